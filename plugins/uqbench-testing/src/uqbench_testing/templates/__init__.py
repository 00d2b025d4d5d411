"""Templates of a new plugin, package data, which ``render`` fills in for ``plugin new``."""
