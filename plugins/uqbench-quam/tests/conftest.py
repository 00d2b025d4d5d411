"""Fixtures of this package's tests."""

from __future__ import annotations

from uqbench_predictive.testing import points, predict, problem, toy

__all__ = ["points", "predict", "problem", "toy"]
