"""Training the networks of an estimator or a problem: a function of each lane's data and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Generic, Literal, TypeVar

import torch
from torch import Tensor

from uqbench.contract.config import LATER
from uqbench.contract.estimator import (
    Data,
    Dataset,
    Predict,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench.contract.seeding import derive_seed
from uqbench.lanes import lane_generators
from uqbench_predictive.networks.architectures import (
    LeNet,
    Mlp,
    Network,
    SpectralGP,
    initial_weights,
)
from uqbench_predictive.networks.learning import Dropout, fit
from uqbench_predictive.networks.modules import module_named
from uqbench_predictive.networks.reference import ReferenceNetwork, open_network


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How a network is built and trained: by Adam, from torch's default initialization.

    Attributes:
        architecture: ``mlp``, with ``hidden`` layers; ``sngp``, the same with a Gaussian process as
            its last layer; ``lenet``; or ``package.module:function``, which makes a
            :class:`torch.nn.Module` from the shape of an input and the number of outputs.
        hidden: widths of the hidden layers.
        learning_rate: Adam's α.
        weight_decay: L2 penalty on the weights, in the gradient.
        batch_size: rows per step; None for all.
        smoothing: label smoothing.
        posterior: whether the mean loss of n points plus the penalty is the negative logarithm of a
            posterior over n, so that ``weight_decay`` is λ, the precision of a normal prior of the
            weights: the penalty is λ/n, with a regression's squared errors and noise 2σ²λ/n.
        noise: σ² of a regression: the mean squared error of ``training`` data, or the one under
            which ``validation`` data are most likely, given the method's mean and epistemic part.
    """

    architecture: str = "mlp"
    hidden: tuple[int, ...] = (100, 100)
    learning_rate: float = 1e-2
    weight_decay: float = 1e-3
    batch_size: int | None = None
    smoothing: float = 0.0
    posterior: bool = field(default=False, metadata=LATER)
    noise: Literal["training", "validation"] = field(default="training", metadata=LATER)


Config = TypeVar("Config", bound=TrainingConfig)
NOISES = torch.logspace(-4, 1, 251, dtype=torch.float64)
"""The grid of σ², of targets whose variance is one: steps of a twentieth."""


@dataclass(frozen=True)
class Trainer(Generic[Config]):
    """What an estimator is constructed with, and the networks that follow from it.

    Attributes:
        problem: it fixes inputs and outputs.
        seeds: one per lane.
        config: the estimator's.
        device: where networks and training data live.
    """

    problem: Problem
    seeds: Sequence[int]
    config: Config
    device: torch.device

    @property
    def regression(self) -> bool:
        """Whether the problem has values, not classes."""
        return self.problem.n_classes == 0

    @property
    def network(self) -> Network:
        """The architecture of the config, for the problem.

        Raises:
            ValueError: LeNet for inputs that are not 28 × 28, or there is no such architecture.
        """
        outputs = max(self.problem.n_classes, 1)
        if self.config.architecture == "lenet":
            if self.problem.inputs != (28, 28):
                raise ValueError(
                    f"expected 28 × 28 images for a LeNet, got inputs {self.problem.inputs}"
                )
            return LeNet(outputs)
        if self.config.architecture == "mlp":
            return Mlp(prod(self.problem.inputs), self.config.hidden, outputs)
        if self.config.architecture == "sngp":
            return SpectralGP(prod(self.problem.inputs), self.config.hidden, outputs)
        return module_named(self.config.architecture, self.problem.inputs, outputs)

    def generators(self, stream: str) -> list[torch.Generator]:
        """One generator per lane for a stream of random numbers."""
        return lane_generators([derive_seed(stream, seed) for seed in self.seeds])

    def member_generators(self, stream: str, members: int) -> list[torch.Generator]:
        """One generator per network, the ``members`` of a lane in a row."""
        return lane_generators(
            [derive_seed(stream, seed, member) for seed in self.seeds for member in range(members)]
        )

    def temperature(self, points: int) -> float:
        """T under which ``exp(−mean loss / T)`` is the likelihood of so many points.

        1/n of classes, 2σ²/n of squared errors; where nothing is known of the noise, 1/n.
        """
        noise = self.problem.noise_var
        return (1 if noise is None else 2 * noise) / points

    def decay(self, points: int) -> float:
        """The factor of the L2 penalty beside a mean loss of so many points."""
        config = self.config
        return config.weight_decay * (self.temperature(points) if config.posterior else 1)

    def noise_var(self, data: Data, found: Tensor, predict: Predict) -> Tensor:
        """σ² of a regression as the config wants it, ``[L]``.

        Args:
            data: with validation data.
            found: the mean squared error of training data, ``[L]``.
            predict: the method, whatever noise it states.

        Raises:
            ValueError: there are to be validation data, and there are none.
        """
        if not self.regression or self.config.noise == "training":
            return found
        if data.validation is None:
            raise ValueError("noise = 'validation' needs validation data, and this task has none")
        said = predict(data.validation.inputs)
        return likeliest_noise(said, data.validation.targets)

    def to_device(self, data: Data) -> Data:
        """The data on the estimator's device."""
        further = None if data.validation is None else self.to_device(data.validation)
        return Data(data.inputs.to(self.device), data.targets.to(self.device), further)

    def train(
        self,
        data: Data,
        steps: int,
        *,
        members: int = 1,
        drop: float = 0.0,
        network: Network | None = None,
    ) -> dict[str, Tensor]:
        """Train ``members`` networks per lane on its data.

        Args:
            data: on the estimator's device, ``[L, n, ...]``; or each member's own, ``[L · E, n]``.
            steps: of Adam.
            members: E.
            drop: probability of dropout.
            network: another architecture than the config's.

        Returns:
            Weights ``[L · E, ...]``, the members of a lane in a row.
        """
        network, config = network or self.network, self.config
        start = initial_weights(network, lane_generators(self.seeds), members)
        generators = self.member_generators("training", members)
        return fit(
            network,
            {name: tensor.to(self.device) for name, tensor in start.items()},
            data if len(data.targets) == len(generators) else repeat(data, members),
            steps,
            learning_rate=config.learning_rate,
            weight_decay=self.decay(data.targets.shape[1]),
            batch_size=config.batch_size,
            smoothing=config.smoothing,
            generators=generators,
            drop=Dropout(drop, generators) if drop else None,
        )

    def reference_or_trained(
        self, data: Data, reference_model: ReferenceModel | None, steps: int
    ) -> tuple[Network, dict[str, Tensor]]:
        """The reference model's network and weights ``[L, ...]``; without one, a trained network's.

        Raises:
            TypeError: the weights of the reference model are not open.
        """
        if reference_model is None:
            return self.network, self.train(data, steps)
        return open_network(reference_model, self.device)


def trained_reference(
    task: Dataset,
    name: str,
    seeds: Sequence[int],
    config: TrainingConfig,
    steps: int,
    drop: float = 0.0,
) -> ReferenceNetwork:
    """A problem's own reference model: a network per lane, trained on the lane's data on the CPU.

    Args:
        task: the problem; its :meth:`data` are learned.
        name: of the problem; the networks follow from it and the seeds.
        seeds: one per lane.
        config: the networks'.
        steps: of Adam.
        drop: probability of dropout while training.
    """
    own = [derive_seed(name, "reference", seed) for seed in seeds]
    trainer = Trainer(task.problem, own, config, torch.device("cpu"))
    return ReferenceNetwork(trainer.network, trainer.train(task.data(seeds), steps, drop=drop))


def repeat(data: Data, members: int) -> Data:
    """The data of every lane for each of its members, ``[L · E, n, ...]``."""
    return Data(
        data.inputs.repeat_interleave(members, dim=0),
        data.targets.repeat_interleave(members, dim=0),
    )


def likeliest_noise(said: PredictiveUncertainty, targets: Tensor) -> Tensor:
    """σ² under which targets ``[L, n]`` are most likely, ``[L]``, on the grid :data:`NOISES`.

    ``argmax Σ_i log N(y_i; mean_i, epistemic_i + σ²)``.
    """
    assert said.mean is not None
    squares = (targets.double().cpu() - said.mean.double()).square()
    variance = said.epistemic.double() + NOISES[:, None, None]  # [grid, L, n]
    each = (variance.log() + squares / variance).flatten(2).mean(-1)
    return NOISES[each.argmin(0)]
