"""Agents that know highway-v0 and learn nothing: a script and a planner."""
