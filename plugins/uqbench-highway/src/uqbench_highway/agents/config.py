"""Configs of the agents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class KeepRightConfig:
    """Nothing to set."""


@dataclass(frozen=True, kw_only=True)
class PlannerConfig:
    """How far the planner looks ahead.

    Attributes:
        steps: depth of the search, which tries all 5 ** steps sequences of meta-actions.
    """

    steps: int = 2

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1; got {self.steps}")
