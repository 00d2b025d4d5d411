"""Predictive uncertainty for uqbench: data, baselines and scores."""
