"""Configs of :mod:`uqbench.builtin.trivial`, apart from it: reading a suite imports no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ConstantActionConfig:
    """The action that :class:`uqbench.builtin.trivial.ConstantAction` takes."""

    action: int


@dataclass(frozen=True, kw_only=True)
class UniformRandomConfig:
    """Nothing to set."""
