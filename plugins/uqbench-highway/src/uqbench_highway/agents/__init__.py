"""Baselines that know highway-v0: a script and a planner."""
