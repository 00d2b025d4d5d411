"""Settings of the environment and the agents; the priors are those of Markou & Rasmussen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ChainOptions:
    """Options of the chain (Dearden et al. 1998), whose rewards 2 and 10 are here 0.2 and 1.

    Attributes:
        slip: probability that the other action happens.
        back_reward: of every move back to the first state.
        end_reward: of every step forward at the far end.
    """

    slip: float = 0.2
    back_reward: float = 0.2
    end_reward: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.slip <= 1:
            raise ValueError(f"slip is a probability; got {self.slip}")


@dataclass(frozen=True, kw_only=True)
class TabularConfig:
    """The model that a tabular agent learns, and how often it plans with it.

    Attributes:
        replan_every: steps between two plans; the paper suggests the number of states.
        prior_counts: c, Dirichlet pseudo-counts of every successor state.
        prior_mu0: μ₀ of the normal-gamma prior over rewards.
        prior_lam: λ, how many rewards the prior mean is worth.
        prior_alpha: α, shape of the gamma prior over a reward's precision.
        prior_beta: β, its rate.
        value_samples: posterior samples of Q in what the agent states as its uncertainty.
    """

    replan_every: int = 5
    prior_counts: float = 1.0
    prior_mu0: float = 0.0
    prior_lam: float = 4.0
    prior_alpha: float = 3.0
    prior_beta: float = 3.0
    value_samples: int = 32

    def __post_init__(self) -> None:
        if self.replan_every < 1:
            raise ValueError(f"replan_every must be at least one step; got {self.replan_every}")
        if self.value_samples < 2:
            raise ValueError(f"a variance needs value_samples ≥ 2; got {self.value_samples}")
        for name in ("prior_counts", "prior_lam", "prior_alpha", "prior_beta"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive; got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class CertaintyEquivalenceConfig(TabularConfig):
    """Settings of certainty equivalence.

    Attributes:
        epsilon: ε, probability of a random action.
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon is a probability; got {self.epsilon}")
