"""Checkpoints: the files, when they are written, and what a batch resumes from."""

CHECKPOINT_SECONDS = 60.0
"""Between two checkpoints of a batch, unless the user says otherwise."""
