"""Settings of the worlds, apart from them: reading a suite imports no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from uqbench.contract.config import LATER

Family = Literal["linear", "ring", "softplus"]
"""How values follow from features: bandits, linear or not, and a ring of states, linear."""

Width = Literal["exact", "counts", "s-over-root-n", "common-factor", "constant", "exact-times-3"]
"""Widths about the exact means; see :class:`uqbench_profile.feature_agents.FeatureBayes`."""


@dataclass(frozen=True, kw_only=True)
class DeepSeaConfig:
    """Settings of a deep sea.

    Attributes:
        size: N, rows and columns.
        noise: σ of the reward of an episode's last step.
        television: whether there is a third action, which leads to the left and pays N(0, 1).
        observed: cells are ``one-hot``; ``pixels``, a cell and its neighbours lit, in an order of
            pixels drawn for each seed; or ``features``, row and column, turned by a rotation drawn
            for each seed: there what is learned of a cell says something of others.
    """

    size: int = 8
    noise: float = 0.0
    television: bool = False
    observed: Literal["one-hot", "pixels", "features"] = field(default="one-hot", metadata=LATER)

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


@dataclass(frozen=True, kw_only=True)
class FeatureConfig:
    """Settings of worlds whose states have features.

    Attributes:
        family: ``linear``: bandits that pay ``φᵀ w_a``; ``softplus``: ``log(1 + exp 2 φᵀ w_a)``;
            ``ring``: as linear, and a state leads to the next one of a ring.
    """

    family: Family = "linear"


@dataclass(frozen=True, kw_only=True)
class FeatureBayesConfig:
    """Settings of exact Bayes in such worlds, or of what it states instead of its own widths.

    Attributes:
        family: of the world.
        width: what it states.
    """

    family: Family = "linear"
    width: Width | Literal["leverage", "silent"] = "exact"


@dataclass(frozen=True, kw_only=True)
class OfflineConfig:
    """Settings of the logged data of an offline world.

    Attributes:
        coverage: who acted: the best of the ten policies (``expert``), all ten alike (``mixed``),
            or the worst (``poor``).
    """

    coverage: Literal["expert", "mixed", "poor"] = "mixed"


@dataclass(frozen=True, kw_only=True)
class OfflineBayesConfig:
    """Settings of exact Bayes in offline worlds, or of what it states instead of its own widths.

    Attributes:
        width: ``exact``, ``constant`` (the geometric mean of the exact ones) or ``silent``.
    """

    width: Literal["exact", "constant", "silent"] = "exact"
