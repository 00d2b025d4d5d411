"""Settings of the environment and the agents; the priors are those of Markou & Rasmussen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
    value_samples: int = 64

    def __post_init__(self) -> None:
        if self.replan_every < 1:
            raise ValueError(f"replan_every must be at least one step; got {self.replan_every}")
        if self.value_samples < 2:
            raise ValueError(f"a variance needs value_samples ≥ 2; got {self.value_samples}")
        _check_positive(self, "prior_counts", "prior_lam", "prior_alpha", "prior_beta")


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


@dataclass(frozen=True, kw_only=True)
class UBEConfig(TabularConfig):
    """Settings of UBE.

    Attributes:
        zeta: ζ, factor on the standard deviation of the noise.
        r_max: R_max, the largest mean reward of the MDP; ``Q_max = R_max / (1 − γ)``. The agent
            is told it.
        discount_bound: whether the local uncertainty has ``γ² Q²_max``, as O'Donoghue et al. have,
            where Markou & Rasmussen have ``Q²_max``.
    """

    zeta: float = 0.1
    r_max: float = 1.0
    discount_bound: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive(self, "zeta", "r_max")


@dataclass(frozen=True, kw_only=True)
class MomentMatchingConfig(TabularConfig):
    """Settings of moment matching.

    Attributes:
        zeta: ζ, factor on the standard deviation of the noise.
        noise: its variance for ζ = 1. ``final``: the whole epistemic variance of (s, a), as the
            published text has it. ``draft``: the expected variance at the next state, as the draft
            has it. ``code``: ``final`` over γ², as the authors' experiments have it.
    """

    zeta: float = 1.0
    noise: Literal["final", "draft", "code"] = "final"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive(self, "zeta")


@dataclass(frozen=True, kw_only=True)
class QLearningConfig:
    """Settings of Q-learning.

    Attributes:
        learning_rate: η.
        epsilon: ε, probability of a random action.
        initial_value: of every Q.
    """

    learning_rate: float = 0.1
    epsilon: float = 0.5
    initial_value: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate <= 1:
            raise ValueError(f"learning_rate must be in (0, 1]; got {self.learning_rate}")
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon is a probability; got {self.epsilon}")


@dataclass(frozen=True, kw_only=True)
class BQLConfig:
    """Settings of Bayesian Q-learning; its prior is over returns.

    Attributes:
        prior_mu0: μ₀ of the normal-gamma prior over the return of every (s, a).
        prior_lam: λ, how many returns the prior mean is worth.
        prior_alpha: α, shape of the gamma prior over a return's precision.
        prior_beta: β, its rate.
        samples: K, draws of the next state's return in an update.
        moments: ``rao-blackwell`` has the moments of (μ, τ) in closed form for every draw;
            ``monte-carlo`` draws these too, as the paper does, and needs many more samples.
        value_samples: samples of every μ in what the agent states as its uncertainty.
    """

    prior_mu0: float = 0.0
    prior_lam: float = 4.0
    prior_alpha: float = 3.0
    prior_beta: float = 3.0
    samples: int = 256
    moments: Literal["rao-blackwell", "monte-carlo"] = "rao-blackwell"
    value_samples: int = 64

    def __post_init__(self) -> None:
        if self.samples < 2 or self.value_samples < 2:
            raise ValueError(
                f"a spread needs two draws: samples = {self.samples}, "
                f"value_samples = {self.value_samples}"
            )
        _check_positive(self, "prior_lam", "prior_beta")
        if self.prior_alpha <= 1:
            raise ValueError(
                f"prior_alpha must be above 1, where the mean's variance is finite; "
                f"got {self.prior_alpha}"
            )


@dataclass(frozen=True, kw_only=True)
class DeepSeaOptions:
    """Options of DeepSea.

    Attributes:
        states: N.
        oracle_discount: γ of the optimal policy that the regret compares with.
    """

    states: int = 8
    oracle_discount: float = 0.9

    def __post_init__(self) -> None:
        if self.states < 3:
            raise ValueError(
                f"DeepSea needs states ≥ 3, or success and failure lead to the same state; "
                f"got {self.states}"
            )


@dataclass(frozen=True, kw_only=True)
class WideNarrowOptions:
    """Options of WideNarrow.

    Attributes:
        pairs: N, wide states, each with a narrow one behind it; there are 2N + 1 states.
        width: W, actions of a wide state.
        high_reward: μ_h, of the first action of a wide state.
        low_reward: μ_l, of all others but that of the last state, which pays 0.
        deviation: σ, of every reward but that.
        oracle_discount: γ of the optimal policy that the regret compares with.
    """

    pairs: int = 1
    width: int = 6
    high_reward: float = 0.5
    low_reward: float = 0.0
    deviation: float = 1.0
    oracle_discount: float = 0.9

    def __post_init__(self) -> None:
        if self.pairs < 1 or self.width < 2:
            raise ValueError(
                f"WideNarrow needs pairs ≥ 1 and width ≥ 2; got {self.pairs} and {self.width}"
            )
        if self.deviation < 0:
            raise ValueError(f"deviation must not be negative; got {self.deviation}")


@dataclass(frozen=True, kw_only=True)
class PriorMDPOptions:
    """Options of a PriorMDP.

    Attributes:
        states: N_s.
        actions: N_a.
        seed: which MDP of the prior.
        mu0: μ of the normal-gamma prior over rewards.
        lam: λ.
        alpha: α.
        beta: β.
        oracle_discount: γ of the optimal policy that the regret compares with.
    """

    states: int = 4
    actions: int = 2
    seed: int = 0
    mu0: float = 0.0
    lam: float = 1.0
    alpha: float = 4.0
    beta: float = 4.0
    oracle_discount: float = 0.9

    def __post_init__(self) -> None:
        if self.states < 1 or self.actions < 1:
            raise ValueError(
                f"a PriorMDP has at least one state and action; got {self.states}, {self.actions}"
            )
        _check_positive(self, "lam", "alpha", "beta")


def _check_positive(config: object, *names: str) -> None:
    for name in names:
        if getattr(config, name) <= 0:
            raise ValueError(f"{name} must be positive; got {getattr(config, name)}")
