"""Scores: of lanes for problems, and of one run's stored predictions, registered by name."""

BINS = 15
"""Bins of the calibration error: as many points in each."""
