"""The model that a method starts from: the given one of setting (b), or one of its own."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, OpenReferenceModel, ReferenceModel
from uqbench.lanes import lane_generators
from uqbench.seeding import derive_seed
from uqbench_quam.config import TrainingConfig
from uqbench_quam.learning import dropout, fit, losses
from uqbench_quam.networks import LeNet, Mlp, Network, Weights, initial_weights


class GivenNetwork:
    """A trained network a lane, as the given model of setting (b).

    Attributes:
        network: of what kind.
        weights: ``[L, ...]`` by name.
    """

    def __init__(self, network: Network, weights: Weights) -> None:
        self.network = network
        self.weights = weights

    def log_probs(self, inputs: Tensor) -> Tensor:
        """Log-probabilities of the classes, float64 ``[L, M, C]``, on the CPU."""
        return log_probs(self.network, self.weights, inputs).cpu()


def architecture(task: Dataset, config: TrainingConfig) -> Network:
    """The network of a config for a problem.

    Raises:
        ValueError: LeNet for inputs that are not 28 × 28.
    """
    outputs = max(task.n_classes, 1)
    if config.architecture == "lenet":
        if task.inputs != (28, 28):
            raise ValueError(f"expected 28 × 28 images for a LeNet, got inputs {task.inputs}")
        return LeNet(outputs)
    return Mlp(prod(task.inputs), config.hidden, outputs)


def train(
    network: Network,
    data: Data,
    seeds: Sequence[int],
    steps: int,
    config: TrainingConfig,
    *,
    members: int = 1,
    drop: float = 0.0,
) -> dict[str, Tensor]:
    """Train ``members`` networks a lane on its data; a function of the lane's data and seed.

    Returns:
        Weights ``[L · E, ...]``, the members of a lane in a row.
    """
    device = data.inputs.device
    start = initial_weights(network, lane_generators(seeds), members)
    own = [derive_seed("training", seed, member) for seed in seeds for member in range(members)]
    generators = lane_generators(own)
    return fit(
        network,
        {name: tensor.to(device) for name, tensor in start.items()},
        repeated(data, members),
        steps,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        batch_size=config.batch_size,
        smoothing=config.smoothing,
        generators=generators,
        drop=dropout(drop, generators) if drop else None,
    )


def given_or_trained(
    task: Dataset,
    data: Data,
    reference: ReferenceModel | None,
    seeds: Sequence[int],
    steps: int,
    config: TrainingConfig,
) -> tuple[Network, dict[str, Tensor]]:
    """The given model's network and weights ``[L, ...]``; without one, those of a trained network.

    Raises:
        TypeError: the weights of the given model are not open.
    """
    if reference is None:
        network = architecture(task, config)
        return network, train(network, data, seeds, steps, config)
    return opened(reference, data.inputs.device)


def opened(reference: ReferenceModel, device: torch.device) -> tuple[Network, dict[str, Tensor]]:
    """The network and the weights of a given model.

    Raises:
        TypeError: they are not open.
    """
    if not isinstance(reference, OpenReferenceModel) or not isinstance(reference.network, Network):
        raise TypeError(
            f"expected a given model with open weights (uqbench_quam.given.GivenNetwork), got a "
            f"{type(reference).__name__}; take an estimator that needs none, such as deep-ensemble"
        )
    return reference.network, {name: t.to(device) for name, t in reference.weights.items()}


def repeated(data: Data, members: int) -> Data:
    """The data of every lane for each of its members, ``[L · E, n, ...]``."""
    return Data(
        data.inputs.repeat_interleave(members, dim=0),
        data.targets.repeat_interleave(members, dim=0),
    )


def on(data: Data, device: torch.device) -> Data:
    """The data on a device."""
    return Data(data.inputs.to(device), data.targets.to(device))


@torch.no_grad()
def log_probs(network: Network, weights: Weights, inputs: Tensor) -> Tensor:
    """Log-probabilities of the classes, float64: ``[S, ...]``, ``[S, B, *x] -> [S, B, C]``."""
    return network(weights, inputs.to(next(iter(weights.values())).device)).double().log_softmax(-1)


@torch.no_grad()
def mean_loss(network: Network, weights: Weights, data: Data) -> Tensor:
    """Mean training loss of every network, ``[S]``; 512 rows at a time."""
    total = torch.zeros(len(data.targets), dtype=torch.float64, device=data.targets.device)
    for inputs, targets in zip(
        data.inputs.split(512, dim=1), data.targets.split(512, dim=1), strict=True
    ):
        total += losses(network(weights, inputs), targets).double().sum(-1)
    return total / data.targets.shape[1]
