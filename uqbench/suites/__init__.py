"""Suites: their tables, how they are read and checked, and what they plan to run."""
