"""Configs of :mod:`uqbench.registry.builtin.trivial`, apart from it for suites without torch."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ConstantActionConfig:
    """The action that :class:`uqbench.registry.builtin.trivial.ConstantAction` takes."""

    action: int


@dataclass(frozen=True, kw_only=True)
class UniformRandomConfig:
    """Nothing to set."""
