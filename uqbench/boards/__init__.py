"""Leaderboards: made of runs, stored, checked, submitted, verified."""
