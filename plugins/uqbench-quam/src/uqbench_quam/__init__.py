"""Estimators of predictive uncertainty for uqbench."""
