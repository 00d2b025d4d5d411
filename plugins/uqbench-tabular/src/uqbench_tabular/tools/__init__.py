"""Programs that read boards."""
