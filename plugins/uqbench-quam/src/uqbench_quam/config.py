"""Settings of the estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uqbench.config import Steps


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How a network is made and trained, where none is given; by Adam, from torch's usual start.

    Attributes:
        architecture: ``mlp``, with ``hidden`` layers, or ``lenet``.
        hidden: widths of the hidden layers.
        learning_rate: Adam's α.
        weight_decay: L2 penalty on the weights, in the gradient.
        batch_size: rows of a step; None for all.
        smoothing: of the labels.
    """

    architecture: Literal["mlp", "lenet"] = "mlp"
    hidden: tuple[int, ...] = (100, 100)
    learning_rate: float = 1e-2
    weight_decay: float = 1e-3
    batch_size: int | None = None
    smoothing: float = 0.0


@dataclass(frozen=True, kw_only=True)
class DeepEnsembleConfig(TrainingConfig):
    """A deep ensemble (Lakshminarayanan et al. 2017).

    Attributes:
        members: how many networks.
    """

    members: int = 10

    def __post_init__(self) -> None:
        if self.members < 1:
            raise ValueError(f"an ensemble has at least one member, got {self.members}")


@dataclass(frozen=True, kw_only=True)
class MCDropoutConfig(TrainingConfig):
    """MC dropout (Gal & Ghahramani 2016).

    Attributes:
        passes: forward passes, each with masks of its own.
        probability: p, of a unit to be dropped.
        trains: whether it trains a network of its own with dropout. Where not, it drops units of
            the given model, which was trained with dropout.
    """

    passes: int = 1000
    probability: float = 0.2
    trains: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.probability < 1:
            raise ValueError(f"probability is in [0, 1), got {self.probability}")
        if self.passes < 1:
            raise ValueError(f"passes must be at least 1, got {self.passes}")


@dataclass(frozen=True, kw_only=True)
class LaplaceConfig(TrainingConfig):
    """Laplace approximation of the last layer, Kronecker-factored (Daxberger et al. 2021).

    Attributes:
        samples: of the logits at a point, for its probabilities.
        noise_precision: of a regression's targets, ``1/σ²``.
    """

    samples: int = 1000
    noise_precision: float = 10.0

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"samples must be at least 1, got {self.samples}")


@dataclass(frozen=True, kw_only=True)
class CyclicalConfig(TrainingConfig):
    """Cyclical stochastic gradient Hamiltonian Monte Carlo (Zhang et al. 2020).

    ``learning_rate`` and ``batch_size`` are those of the network it starts from.

    Attributes:
        iterations: of all cycles together.
        cycles: M, how often the step size falls from its first value to zero.
        step_size: α₀, the first step size of a cycle.
        exploration: β, the share of a cycle without noise and without samples.
        friction: 1 − α, with α the momentum that is kept.
        temperature: T; None for ``1/n``, the posterior of a mean loss over n points.
        samples: models kept, evenly spaced over where the cycles sample.
        chain_batch_size: rows of an iteration; None for all.
    """

    iterations: Steps = 10_000
    cycles: int = 5
    step_size: float = 5e-2
    exploration: float = 0.8
    friction: float = 0.1
    temperature: float | None = None
    samples: int = 500
    chain_batch_size: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.exploration < 1:
            raise ValueError(f"exploration is a share below one, got {self.exploration}")
        if min(self.iterations, self.cycles, self.samples) < 1:
            raise ValueError("iterations, cycles and samples must be at least 1")


@dataclass(frozen=True, kw_only=True)
class HMCConfig(TrainingConfig):
    """Hamiltonian Monte Carlo (Neal 1996) with the gradient of all data.

    Attributes:
        chains: independent chains, each from initial weights of its own.
        burn_in: iterations of each chain that are not kept.
        iterations: of each chain that are kept.
        leapfrog: L, steps of a trajectory.
        step_size: ε.
        prior: of the weights, normal: ``unit``, precision 1; or ``scaled``, variance ``2 / inputs
            of the layer``, under which a wide network's outputs stay of the size of its inputs.
        noise_precision: of a regression's targets, ``1/σ²``.
    """

    chains: int = 4
    burn_in: Steps = 50
    iterations: Steps = 150
    leapfrog: int = 300
    step_size: float = 2e-3
    prior: Literal["unit", "scaled"] = "unit"
    noise_precision: float = 10.0

    def __post_init__(self) -> None:
        if min(self.chains, self.iterations, self.leapfrog) < 1:
            raise ValueError("chains, iterations and leapfrog must be at least 1")


@dataclass(frozen=True, kw_only=True)
class QuamConfig(TrainingConfig):
    """QUAM (Schweighofer et al. 2023, Algorithm 1); the defaults are those of the simplex example.

    Attributes:
        search_steps: steps of a search; the first model met is the reference itself.
        search_rate: Adam's α in a search.
        search_decay: L2 penalty in a search, in the gradient.
        search_batch: training points in a step's penalty; None for all.
        penalty: c₀.
        growth: η, the factor on c after every period.
        period: u, steps between two growths.
        scales_rate: whether the step size falls by η as the penalty grows, as in the released code
            for images.
        slack: γ, by which an accepted model's training loss may exceed the reference's.
        hinge: whether the penalty acts only where the constraint is violated.
        models: which models count: all ``visited``, weighted by their posterior, or those that the
            searches ``found``, the accepted model of each farthest from the reference, alike.
        temperature: T of the posterior weights; None for ``1/n``, the likelihood itself.
        last_layer: whether a search moves the last layer alone.
        classes: search only for the N classes that the reference gives the highest probability;
            None for all.
        forward_passes: budget of a point, in forward passes: as many classes, the most probable
            first, as it pays for, a search's step counting as three. None for no budget.
        kick: regression: how far the last layer's bias starts off the reference's.
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
    hinge: bool = False
    models: Literal["visited", "found"] = "visited"
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
            raise ValueError("slack and penalty are not negative, growth is positive")
