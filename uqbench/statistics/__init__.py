"""Intervals, tests and ranks of runs; knows no claim and no board."""
