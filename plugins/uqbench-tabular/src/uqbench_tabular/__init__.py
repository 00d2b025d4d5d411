"""Tabular Bayesian reinforcement learning for uqbench."""
