"""Suites: their tables, reading and checking them, and planning their runs."""
