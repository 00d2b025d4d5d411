"""Scores: normalisation, aggregates with intervals, claims and leaderboards."""
