"""Training and evaluating the lanes of a batch."""
