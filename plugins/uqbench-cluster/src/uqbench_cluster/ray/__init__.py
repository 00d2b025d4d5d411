"""Ray as an executor: one task a batch, retried elsewhere from its last checkpoint."""
