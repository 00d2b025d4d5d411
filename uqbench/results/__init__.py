"""Runs on disk: one folder per run, plain files, readable after any crash."""
