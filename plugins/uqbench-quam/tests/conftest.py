"""Fixtures of this package's tests."""

from __future__ import annotations

from uqbench_predictive.testing import points, predict, problem, toy

from uqbench.testing.fixtures import one_torch_thread

__all__ = ["one_torch_thread", "points", "predict", "problem", "toy"]
