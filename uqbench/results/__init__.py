"""Runs on disk: one folder a run, plain files, readable after any crash."""
