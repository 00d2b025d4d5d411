"""Baselines that know the games."""
