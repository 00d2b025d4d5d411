"""Settings of the worlds, apart from them: reading a suite imports no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DeepSeaConfig:
    """Settings of a deep sea.

    Attributes:
        size: N, rows and columns.
        noise: σ of the reward of an episode's last step.
        television: whether there is a third action, which leads to the left and pays N(0, 1).
    """

    size: int = 8
    noise: float = 0.0
    television: bool = False

    def __post_init__(self) -> None:
        if self.size < 2:
            raise ValueError(f"a deep sea needs size ≥ 2, got {self.size}")
        if self.noise < 0:
            raise ValueError(f"noise must not be negative, got {self.noise}")

    @property
    def n_actions(self) -> int:
        """A."""
        return 3 if self.television else 2

    @property
    def dithering(self) -> float:
        """Episodes that uniformly random actions take to the goal, on average: ``A^N``."""
        return float(self.n_actions) ** self.size
