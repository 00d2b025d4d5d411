"""Stable-Baselines3 in uqbench."""
