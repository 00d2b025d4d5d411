"""Settings of the posteriors of Q.

The settings of a method's own are those of its paper; the Q-learning underneath has the defaults of
``uqbench_dqn.config``, so that methods differ in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from uqbench_dqn.config import EpsilonGreedyConfig

from uqbench.contract.config import LATER, Steps


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


@dataclass(frozen=True, kw_only=True)
class EpinetConfig(EpsilonGreedyConfig):
    """Settings of an epinet; those of Osband et al. 2023, section 4 and its code for the testbed.

    Attributes:
        index_size: D_Z, of the epistemic index.
        epinet_hidden: widths of the learned part's hidden layers.
        prior_hidden: widths of each of the D_Z prior networks' hidden layers.
        prior_scale: what the prior networks are multiplied by.
        noise_std: σ, of the perturbations of targets, in units of return; 0 for none.
        indices: draws of the index that a gradient step averages over.
        samples: S, draws of the index for its predictions.
        kappa: where the Huber loss turns from quadratic to linear.
    """

    exploration: Literal["epsilon-greedy", "none"] = "none"
    index_size: int = 8
    epinet_hidden: tuple[int, ...] = (15, 15)
    prior_hidden: tuple[int, ...] = (5, 5)
    prior_scale: float = 0.3
    noise_std: float = field(default=0.0, metadata=LATER)
    indices: int = 8
    samples: int = 32
    kappa: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_indices(self.index_size, self.indices, self.samples)
        if self.prior_scale < 0 or self.noise_std < 0 or not self.kappa > 0:
            raise ValueError(
                f"expected prior_scale >= 0, noise_std >= 0 and kappa > 0, got {self.prior_scale}, "
                f"{self.noise_std} and {self.kappa}"
            )


@dataclass(frozen=True, kw_only=True)
class HypermodelConfig(EpsilonGreedyConfig):
    """Settings of a linear hypermodel; those of Dwaracherla et al. 2020 and its testbed code.

    Attributes:
        index_size: of the index z.
        prior_hidden: widths of the prior's hidden layers.
        prior_scale: what the prior hypermodel is multiplied by.
        noise_std: σ_w, of the perturbations of targets, in units of return.
        indices: draws of the index that a gradient step averages over.
        samples: S, draws of the index for its predictions.
    """

    exploration: Literal["epsilon-greedy", "none"] = "none"
    index_size: int = 6
    prior_hidden: tuple[int, ...] = (10,)
    prior_scale: float = 1.0
    noise_std: float = 0.1
    indices: int = 16
    samples: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_indices(self.index_size, self.indices, self.samples)
        if self.prior_scale < 0 or self.noise_std < 0:
            raise ValueError(
                f"expected prior_scale >= 0 and noise_std >= 0, got {self.prior_scale} and "
                f"{self.noise_std}"
            )


@dataclass(frozen=True, kw_only=True)
class IQNConfig(EpsilonGreedyConfig):
    """Settings of implicit quantile networks; those of Dabney et al. 2018, section 4 and appendix.

    Attributes:
        predicted: N, levels of a gradient step's predictions.
        targets: N', levels of its targets.
        acting: K, levels that actions are chosen by, in targets too.
        cosines: n, of the embedding of a level.
        kappa: κ of the quantile Huber loss.
        stated: quantiles that are stated and evaluated, at midpoint levels.
    """

    predicted: int = 64
    targets: int = 64
    acting: int = 32
    cosines: int = 64
    kappa: float = 1.0
    stated: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("predicted", "targets", "acting", "cosines", "stated"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.kappa > 0:
            raise ValueError(f"kappa must be positive, got {self.kappa}")


def _check_indices(size: int, indices: int, samples: int) -> None:
    if size < 1 or indices < 1 or samples < 2:
        raise ValueError(
            f"expected index_size >= 1, indices >= 1 and samples >= 2, got {size}, {indices} and "
            f"{samples}"
        )


@dataclass(frozen=True, kw_only=True)
class UVUConfig(EpsilonGreedyConfig):
    """Settings of universal value-function uncertainties.

    Attributes:
        heads: M, differences that an estimate is the mean of.
        prior_scale: what the differences are multiplied by, in units of return.
        kappa: where the Huber loss of Q turns from quadratic to linear.
    """

    heads: int = 10
    prior_scale: float = 1.0
    kappa: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("heads", "prior_scale", "kappa"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
