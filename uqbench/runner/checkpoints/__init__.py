"""Checkpoints: the files, when they are written, and what a batch resumes from."""
