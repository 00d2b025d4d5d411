"""Fixtures of this package's tests."""

from uqbench_predictive.testing import points, predict, problem, toy

__all__ = ["points", "predict", "problem", "toy"]
