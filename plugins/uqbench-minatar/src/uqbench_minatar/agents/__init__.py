"""Agents that know the games and learn nothing."""
