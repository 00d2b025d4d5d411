"""Configuration of QUAM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uqbench_predictive.networks.training import TrainingConfig

from uqbench.contract.config import Steps


@dataclass(frozen=True, kw_only=True)
class QuamConfig(TrainingConfig):
    """QUAM (Schweighofer et al. 2023, Algorithm 1); the defaults are those of the simplex example.

    Attributes:
        search_steps: steps of a search; the first model is the reference itself.
        search_rate: Adam's α in a search.
        search_decay: L2 penalty in a search, in the gradient.
        search_batch: training points per step, in the penalty; None for all.
        penalty: c₀.
        growth: η, the factor on c after every period.
        period: u, steps between two increases of c.
        scales_rate: whether the step size falls by η as the penalty grows, as in the released code
            for images.
        slack: γ, by which an accepted model's training loss may exceed the reference's.
        models: which models enter the estimate: ``all`` of the search, weighted by their posterior,
            or the ``best`` of each search, the accepted one farthest from the reference, equally
            weighted.
        temperature: T of the posterior weights; None for ``1/n``, the likelihood itself.
        last_layer: whether a search moves only the last layer.
        classes: search only for the N classes to which the reference gives the highest probability;
            None for all.
        forward_passes: budget per point, in forward passes: it pays for as many classes as it can,
            the most probable first, a step of a search counting as three. None for no budget.
        kick: regression: initial offset of the last layer's bias from the reference's.
    """

    search_steps: Steps = 700
    search_rate: float = 1e-3
    search_decay: float = 1e-2
    search_batch: int | None = None
    penalty: float = 1.0
    growth: float = 4.0
    period: Steps = 70
    scales_rate: bool = False
    slack: float = 1e-3
    models: Literal["all", "best"] = "all"
    temperature: float | None = None
    last_layer: bool = False
    classes: int | None = None
    forward_passes: int | None = None
    kick: float = 1e-2

    def __post_init__(self) -> None:
        for name in ("search_steps", "period"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("classes", "forward_passes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if self.slack < 0 or self.penalty < 0 or self.growth <= 0:
            raise ValueError(
                "expected slack >= 0, penalty >= 0 and growth > 0, got "
                f"{self.slack}, {self.penalty} and {self.growth}"
            )
