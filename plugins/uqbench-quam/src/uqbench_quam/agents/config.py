"""QUAM-DQN's config, apart from it: reading a suite imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

from uqbench_dqn.config import DeepQConfig

from uqbench.contract.config import WarmUpSteps


@dataclass(frozen=True, kw_only=True)
class QuamDQNConfig(DeepQConfig):
    """QUAM-DQN's settings in addition to those of the DQN family.

    Attributes:
        kappa: where the Huber loss of learning turns from quadratic to linear.
        bonus_weight: β, the weight of the bonus in action selection.
        search_steps: steps of a search.
        search_rate: Adam's α in a search.
        search_batch: transitions from the replay buffer on which the error must not rise.
        penalty: c₀.
        growth: η, the factor on c after every period.
        period: u, search steps between two increases of c.
        slack: γ, by which the mean squared temporal-difference error may grow.
        epsilon: share of random actions after ``learning_starts``; before, all actions are random.
    """

    kappa: float = 1.0
    bonus_weight: float = 1.0
    search_steps: int = 10
    search_rate: float = 1e-2
    search_batch: int = 32
    penalty: float = 1.0
    growth: float = 4.0
    period: int = 5
    slack: float = 1e-3
    epsilon: float = 0.01
    learning_starts: WarmUpSteps = 5_000

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("search_steps", "search_batch", "period"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
