"""Configs of the windy cliff and its script, apart from them: reading a suite imports no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CliffConfig:
    """Config of the windy cliff.

    Attributes:
        wind: probability that an agent falls when a step of it ends on the ledge.
    """

    wind: float = 0.05

    def __post_init__(self) -> None:
        if not 0 <= self.wind <= 1:
            raise ValueError(f"wind is a probability, got {self.wind}")


@dataclass(frozen=True, kw_only=True)
class CliffScriptConfig:
    """Nothing to set."""
