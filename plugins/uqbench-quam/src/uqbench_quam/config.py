"""Settings of the estimators and datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class TwoMoonsOptions:
    """Two moons: two interleaving half circles of radius 1, one a class.

    Attributes:
        points: n, half of them in each class.
        noise: standard deviation of the normal noise on each coordinate.
        setting: ``selected``, Schweighofer et al. 2023's (a), or ``given``, their (b): a reference
            model, the same for every estimator.
    """

    points: int = 100
    noise: float = 0.1
    setting: Literal["selected", "given"] = "given"

    def __post_init__(self) -> None:
        if self.points < 2 or self.points % 2:
            raise ValueError(f"points must be even and positive, got {self.points}")
        if self.noise < 0:
            raise ValueError(f"noise is a standard deviation, got {self.noise}")


@dataclass(frozen=True, kw_only=True)
class DeepEnsembleConfig:
    """A deep ensemble (Lakshminarayanan et al. 2017).

    Attributes:
        members: how many networks.
        hidden: widths of the hidden layers.
        learning_rate: Adam's α.
        weight_decay: L2 penalty on the weights, in the gradient.
    """

    members: int = 10
    hidden: tuple[int, ...] = (100, 100)
    learning_rate: float = 1e-2
    weight_decay: float = 1e-3

    def __post_init__(self) -> None:
        if self.members < 1:
            raise ValueError(f"an ensemble has at least one member, got {self.members}")
