"""Configs of :mod:`uqbench.trivial`, apart from it: reading a suite need not import torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ConstantActionConfig:
    """The action that :class:`uqbench.trivial.ConstantAction` takes."""

    action: int


@dataclass(frozen=True, kw_only=True)
class UniformRandomConfig:
    """Nothing to set."""
