"""Settings of the posteriors of Q.

The settings of a method's own are those of its paper; the Q-learning underneath has the defaults of
``uqbench_dqn.config``, so that methods differ in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uqbench_dqn.config import EpsilonGreedyConfig

from uqbench.contract.config import Steps


@dataclass(frozen=True, kw_only=True)
class IDSConfig(EpsilonGreedyConfig):
    """Settings of information-directed sampling on QR-DQN; those of Nikolov et al. 2019.

    Attributes:
        heads: K, Q-functions of the bootstrap.
        quantiles: N, of the return distribution.
        regret_scale: λ, standard deviations of the bounds that regret is estimated by.
        least_noise: the least normalized variance of the return, ρ².
        kappa: where the Huber loss of the heads turns from quadratic to linear.
        quantile_kappa: κ of the quantile Huber loss; 0 is the plain quantile regression loss.
    """

    exploration: Literal["epsilon-greedy", "none"] = "none"
    heads: int = 10
    quantiles: int = 50
    regret_scale: float = 0.1
    least_noise: float = 0.25
    kappa: float = 1.0
    quantile_kappa: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads < 2 or self.quantiles < 2:
            raise ValueError(
                f"a spread needs at least 2 heads and 2 quantiles, got {self.heads} and "
                f"{self.quantiles}"
            )
        for name in ("regret_scale", "least_noise", "kappa"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.quantile_kappa < 0:
            raise ValueError(f"quantile_kappa must not be negative, got {self.quantile_kappa}")


@dataclass(frozen=True, kw_only=True)
class BDQNConfig(EpsilonGreedyConfig):
    """Settings of Bayesian deep Q-networks; those of Azizzadenesheli et al. 2018, section 5.

    Attributes:
        prior_var: σ², of every weight of the last layer before any data.
        noise_var: σ_ε², of a target given its features.
        posterior_syncs: syncs of the target network between two updates of the posterior; the
            paper has 100,000 steps and 10,000.
        posterior_transitions: B, that a posterior is made of; all that are stored if fewer.
        sample_period: T^sample, steps that a draw of the last layer is acted by and learned with.
        samples: S, draws of the last layer for its predictions.
    """

    exploration: Literal["epsilon-greedy", "none"] = "none"
    prior_var: float = 0.001
    noise_var: float = 1.0
    posterior_syncs: int = 10
    posterior_transitions: int = 100_000
    sample_period: Steps = 1_000
    samples: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("prior_var", "noise_var"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("posterior_syncs", "posterior_transitions", "sample_period"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.samples < 2:
            raise ValueError(f"a spread needs at least 2 samples, got {self.samples}")
        if not self.hidden:
            raise ValueError("a Bayesian last layer needs a hidden layer below it, got hidden = ()")
        if self.schedule != "periodic":
            raise ValueError(f"expected the schedule 'periodic', got {self.schedule!r}")
