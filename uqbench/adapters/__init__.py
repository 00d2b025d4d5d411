"""Environments of other libraries as lanes."""
