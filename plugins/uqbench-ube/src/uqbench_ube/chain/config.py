"""The decision of Figure 1 as a task: its config, and what its actions are worth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ChainConfig:
    """Config of the decision; the defaults are those of Figure 2.

    Attributes:
        mu_1: μ₁, mean reward of the first action.
        mu_2: μ₂, mean reward of a state of the chain.
        sigma: σ, standard deviation of the return of either action.
        discount: γ, by which the chain's rewards are discounted and scaled; the task's, too.
    """

    mu_1: float = 1.0
    mu_2: float = 0.0
    sigma: float = 1.0
    discount: float = 0.9

    def __post_init__(self) -> None:
        if not 0 <= self.discount < 1:
            raise ValueError(f"an endless chain needs 0 <= discount < 1, got {self.discount}")
        if self.sigma <= 0:
            raise ValueError(f"sigma must be positive, got {self.sigma}")


def mean_returns(config: ChainConfig) -> tuple[float, float]:
    """The expected discounted return of each action: ``μ₁`` and ``μ₂ / (1 − γ)``."""
    return config.mu_1, config.mu_2 / (1 - config.discount)


def best_return(config: ChainConfig) -> float:
    """The expected return of the better action."""
    return max(mean_returns(config))
