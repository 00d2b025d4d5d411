"""Scores: of lanes for problems, and of one run's stored predictions, registered by name."""
