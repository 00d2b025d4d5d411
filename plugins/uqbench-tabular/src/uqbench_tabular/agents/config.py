"""Config of the agents; the priors are those of Markou & Rasmussen. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uqbench_tabular.environments.config import GaussianValuesConfig
from uqbench_tabular.validation import require_positive, require_probability


@dataclass(frozen=True, kw_only=True)
class ModelBasedConfig:
    """The model that an agent learns, and how often it plans with it; all that PSRL needs.

    Attributes:
        replan_every: steps between two plans; the paper suggests the number of states.
        prior_counts: c, Dirichlet pseudo-counts of every successor state.
        prior_mu0: μ₀ of the normal-gamma prior over rewards.
        prior_lam: λ, how many rewards the prior mean is worth.
        prior_alpha: α, shape of the gamma prior over a reward's precision.
        prior_beta: β, its rate.
        value_samples: posterior samples of Q from which the uncertainty is computed.
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
        require_positive(self, "prior_counts", "prior_lam", "prior_alpha", "prior_beta")


@dataclass(frozen=True, kw_only=True)
class CertaintyEquivalenceConfig(ModelBasedConfig):
    """Config of certainty equivalence.

    Attributes:
        epsilon: ε, probability of a random action.
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_probability(self, "epsilon")


@dataclass(frozen=True, kw_only=True)
class UBEConfig(ModelBasedConfig):
    """Config of UBE.

    Attributes:
        zeta: ζ, factor on the standard deviation of the noise.
        r_max: R_max, the largest mean reward of the MDP, which the agent is assumed to know;
            ``Q_max = R_max / (1 − γ)``.
        discount_bound: whether the local uncertainty has ``γ² Q²_max``, as in O'Donoghue et al.,
            instead of ``Q²_max``, as in Markou & Rasmussen.
    """

    zeta: float = 0.1
    r_max: float = 1.0
    discount_bound: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "zeta", "r_max")


@dataclass(frozen=True, kw_only=True)
class MomentMatchingConfig(ModelBasedConfig):
    """Config of moment matching.

    Attributes:
        zeta: ζ, factor on the standard deviation of the noise.
        noise: its variance for ζ = 1. ``final``: the whole epistemic variance of (s, a), as in the
            published text. ``draft``: the expected variance at the next state, as in the draft.
            ``code``: ``final`` over γ², as in the authors' experiments.
    """

    zeta: float = 1.0
    noise: Literal["final", "draft", "code"] = "final"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "zeta")


@dataclass(frozen=True, kw_only=True)
class QLearningConfig:
    """Config of Q-learning.

    Attributes:
        learning_rate: η.
        epsilon: ε, probability of a random action.
    """

    learning_rate: float = 0.1
    epsilon: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate <= 1:
            raise ValueError(f"learning_rate must be in (0, 1]; got {self.learning_rate}")
        require_probability(self, "epsilon")


@dataclass(frozen=True, kw_only=True)
class BQLConfig:
    """Config of Bayesian Q-learning; its prior is over returns.

    Attributes:
        prior_mu0: μ₀ of the normal-gamma prior over the return of every (s, a).
        prior_lam: λ, how many returns the prior mean is worth.
        prior_alpha: α, shape of the gamma prior over a return's precision.
        prior_beta: β, its rate.
        samples: K, draws of the next state's return in an update.
        moments: ``rao-blackwell`` has the moments of (μ, τ) in closed form for every draw;
            ``monte-carlo`` draws these too, as the paper does, and needs many more samples.
        value_samples: samples of every μ from which the uncertainty is computed.
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
        require_positive(self, "prior_lam", "prior_beta")
        if self.prior_alpha <= 1:
            raise ValueError(
                f"prior_alpha must be above 1, where the mean's variance is finite; "
                f"got {self.prior_alpha}"
            )


@dataclass(frozen=True, kw_only=True)
class GaussianDrawsConfig(GaussianValuesConfig):
    """Config of few draws from the exact posterior of ``gaussian-values``.

    Attributes:
        draws: K, how many.
    """

    draws: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.draws < 2:
            raise ValueError(f"a variance needs draws ≥ 2; got {self.draws}")


@dataclass(frozen=True, kw_only=True)
class HeldActionConfig:
    """The number of steps for which an action is held."""

    hold: int = 50

    def __post_init__(self) -> None:
        if self.hold < 1:
            raise ValueError(f"hold: expected at least 1, got {self.hold}")
