"""Networks with an epistemic index: epinets, hypermodels, and Bayes by backprop.

A prediction is a function ``f(x, z)`` of the input and an index z, drawn from a standard normal.
One z is one model of all inputs together, so that indices are a sample of models (Osband et al.
2023, "Epistemic neural networks"). Training minimizes the mean loss over indices drawn at a step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, prod
from typing import Generic, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_predictive.networks.architectures import (
    HEAD,
    Mlp,
    Network,
    Weights,
    affine,
    initial_weights,
)
from uqbench_predictive.networks.learning import Stack, losses, shuffled
from uqbench_predictive.networks.prior_functions import random_weights
from uqbench_predictive.networks.training import Trainer, TrainingConfig
from uqbench_predictive.uncertainty import classification, regression

SIGMA = 0.05
"""Initial standard deviation of a weight of Bayes by backprop."""


@dataclass(frozen=True, kw_only=True)
class IndexedConfig(TrainingConfig):
    """Networks with an index.

    Attributes:
        draws: indices of a step.
        samples: indices of a prediction.
    """

    draws: int = 8
    samples: int = 200

    def __post_init__(self) -> None:
        if min(self.draws, self.samples) < 1:
            raise ValueError(
                f"expected draws and samples of at least 1, got {self.draws} and {self.samples}"
            )


@dataclass(frozen=True, kw_only=True)
class PriorIndexedConfig(IndexedConfig):
    """Networks with an index and a random prior function.

    Attributes:
        index: D, numbers of an index.
        prior_scale: factor of the prior function, whose variance is that of one random network.
    """

    index: int = 8
    prior_scale: float = 1.0


Config = TypeVar("Config", bound=IndexedConfig)


class Indexed(Estimator, Generic[Config]):
    """Models ``f(x, z)`` of a random index z, trained by the mean over indices.

    Attributes:
        perturbs: whether an index brings noise to the targets of a regression whose noise is known.
    """

    perturbs = True

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: Config, device: torch.device
    ) -> None:
        self.trainer = Trainer(problem, seeds, config, device)
        self.config = config
        self.network: Network = self.trainer.network

    @abstractmethod
    def start(self) -> dict[str, Tensor]:
        """What is learned, before the first step: ``[L, ...]`` by name."""

    @property
    @abstractmethod
    def size(self) -> int:
        """D, numbers of an index."""

    @abstractmethod
    def outputs(self, learned: Weights, index: Tensor, inputs: Tensor) -> Tensor:
        """``[L, K, M, C]`` at ``[L, M, *x]``, of the indices ``[L, K, D]``."""

    def penalty(self, learned: Weights, temperature: float) -> Tensor | float:
        """Added to a lane's mean loss, ``[L]``, beside the weight decay of :meth:`decay`."""
        return 0.0

    def decay(self, points: int) -> float:
        """The factor of the L2 penalty on what is learned."""
        return self.trainer.decay(points)

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Minimize the mean loss over indices.

        Where it perturbs, targets are ``y + σ cᵀz`` with a direction c of each point (Osband et al.
        2023, section 4.2): an index is a model of data with further noise.
        """
        trainer, config = self.trainer, self.config
        data = trainer.to_device(data)
        self.reference_model = reference_model
        points = data.targets.shape[1]
        stack = Stack({name: tensor.to(trainer.device) for name, tensor in self.start().items()})
        generators = trainer.generators("indices")
        noise = trainer.problem.noise_var if trainer.regression else None
        directions = normalize(self._drawn(points, generators), dim=-1) if self.perturbs else None
        rows = torch.arange(points, device=trainer.device).expand(len(data.targets), -1)
        stream = shuffled(Data(rows, rows), config.batch_size, trainer.generators("batches"))
        lane = torch.arange(len(rows), device=trainer.device)[:, None]
        for _ in range(steps):
            index, at = self._drawn(config.draws, generators), next(stream).targets
            given = data.targets[lane, at][:, None].expand(-1, config.draws, -1)
            if noise is not None and directions is not None:
                given = given + noise**0.5 * index @ directions[lane, at].mT
            found = self.outputs(stack.weights, index, data.inputs[lane, at])
            each = losses(found.flatten(0, 1), given.flatten(0, 1)).unflatten(0, (-1, config.draws))
            objective = each.flatten(1).mean(-1) + self.penalty(
                stack.weights, trainer.temperature(points)
            )
            stack.step(objective.sum(), config.learning_rate, self.decay(points))
        self.learned = stack.snapshot()
        self.noise_var = torch.full((len(rows),), float("nan"), dtype=torch.float64)
        if trainer.regression:
            residuals = self._members(data.inputs).squeeze(-1) - data.targets.cpu()
            own = residuals.square().mean((0, 2))
            self.noise_var = own if noise is None else torch.full_like(own, noise)
            self.noise_var = trainer.noise_var(data, self.noise_var, self.predict)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The spread of the models of some indices, the same for all inputs."""
        members = self._members(inputs)
        if self.trainer.regression:
            return regression(members.squeeze(-1), self.noise_var[:, None])
        return classification(self.reference_model, inputs, members)

    @torch.no_grad()
    def _members(self, inputs: Tensor) -> Tensor:
        """Outputs of the sampled indices, float64 ``[samples, L, M, C]``, on the CPU."""
        x, generators = inputs.to(self.trainer.device), self.trainer.generators("predicted")
        parts = [
            self.outputs(self.learned, self._drawn(1, generators), x)[:, 0]
            for _ in range(self.config.samples)
        ]
        return torch.stack(parts).double().cpu()

    def _drawn(self, count: int, generators: Sequence[torch.Generator]) -> Tensor:
        """Standard normal, ``[L, count, D]``."""
        drawn = [torch.randn(count, self.size, generator=g) for g in generators]
        return torch.stack(drawn).to(self.trainer.device)

    def _initial(self) -> dict[str, Tensor]:
        return initial_weights(self.network, self.trainer.generators("initial"))


class BayesByBackprop(Indexed[IndexedConfig]):
    """A normal over every weight by itself, which minimizes the variational free energy.

    ``weight_decay`` is λ, the precision of the weights' normal prior, and an index has a number for
    each weight: ``w = μ + σ z``, ``σ = log(1 + exp ρ)``.

    Source: Blundell et al. 2015, "Weight uncertainty in neural networks"
    """

    perturbs = False

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.network.parameters

    def start(self) -> dict[str, Tensor]:
        """Means as a network's initial weights, and one standard deviation for all."""
        means = self._initial()
        rho = log(torch.tensor(SIGMA).expm1())
        return means | {f"{name}.rho": torch.full_like(t, rho) for name, t in means.items()}

    def outputs(self, learned: Weights, index: Tensor, inputs: Tensor) -> Tensor:
        """Outputs of networks with weights ``μ + σ z``."""
        sizes = [prod(shape) for shape in self.network.shapes.values()]
        parts = zip(self.network.shapes.items(), index.split(sizes, -1), strict=True)
        drawn = {
            name: learned[name][:, None]
            + softplus(learned[f"{name}.rho"])[:, None] * own.unflatten(-1, shape)
            for (name, shape), own in parts
        }
        return called(self.network, drawn, inputs)

    def decay(self, points: int) -> float:
        """None: the prior is in the free energy."""
        return 0.0

    def penalty(self, learned: Weights, temperature: float) -> Tensor | float:
        """``T KL[q ‖ p]``, ``[L]``: T is 1/n, of squared errors 2σ²/n."""
        precision, total = self.config.weight_decay, torch.tensor(0.0)
        for name in self.network.shapes:
            variance = softplus(learned[f"{name}.rho"]).square()
            scaled = precision * variance
            each = scaled + precision * learned[name].square() - 1 - scaled.log()
            total = total + 0.5 * each.flatten(1).sum(-1)
        return temperature * total


class Hypermodel(Indexed[PriorIndexedConfig]):
    """All weights of a network as a linear function of the index, plus a prior of the same form.

    Source: Dwaracherla et al. 2020, "Hypermodels for exploration"
    """

    @property
    def size(self) -> int:
        """As the config has it."""
        return self.config.index

    def start(self) -> dict[str, Tensor]:
        """A network's initial weights, and further ones along every direction of the index."""
        center, size = self._initial(), self.size
        generators = self.trainer.member_generators("directions", size)
        along = initial_weights(self.network, generators)
        drawn = [random_weights(self.network, g) for g in generators]
        self.prior = {
            name: torch.stack([own[name] for own in drawn]).unflatten(0, (-1, size))
            for name in self.network.shapes
        }
        return center | {
            f"{name}.along": t.unflatten(0, (-1, size)) / size**0.5 for name, t in along.items()
        }

    def outputs(self, learned: Weights, index: Tensor, inputs: Tensor) -> Tensor:
        """Outputs of networks with weights ``b + A z``, and of the prior's with ``A₀ z/√D``."""
        own = {
            name: learned[name][:, None] + combined(index, learned[f"{name}.along"])
            for name in self.network.shapes
        }
        scaled = index / self.size**0.5
        fixed = {name: combined(scaled, t.to(index)) for name, t in self.prior.items()}
        prior = called(self.network, fixed, inputs)
        return called(self.network, own, inputs) + self.config.prior_scale * prior


class Epinet(Indexed[PriorIndexedConfig]):
    """One network, and a small one of its features and the index, plus random prior networks.

    ``f(x, z) = μ(x) + g(sg[φ(x)], x, z)ᵀ z + s p(x)ᵀ z/√D``: the features φ get no gradient from
    the small network g, of the base network's widths; p are D random networks.

    Source: Osband et al. 2023, "Epistemic neural networks"
    """

    @property
    def size(self) -> int:
        """As the config has it."""
        return self.config.index

    @property
    def small(self) -> Mlp:
        """The network g of features, input and index, with C · D outputs."""
        features, outputs = self.network.shapes[HEAD[0]]
        wide = features + prod(self.trainer.problem.inputs) + self.size
        return Mlp(wide, self.config.hidden, outputs * self.size)

    def start(self) -> dict[str, Tensor]:
        """Initial weights of both."""
        generators = self.trainer.generators("small")
        own = initial_weights(self.small, generators)
        drawn = [
            random_weights(self.network, g)
            for g in self.trainer.member_generators("priors", self.size)
        ]
        self.prior = {name: torch.stack([w[name] for w in drawn]) for name in self.network.shapes}
        return self._initial() | {f"small.{name}": tensor for name, tensor in own.items()}

    def outputs(self, learned: Weights, index: Tensor, inputs: Tensor) -> Tensor:
        """The base network's, moved along the index."""
        features = self.network.features(learned, inputs)
        center = affine(learned, "head", features)[:, None]  # [L, 1, M, C]
        own = {name: learned[f"small.{name}"] for name in self.small.shapes}
        known = torch.cat([features.detach(), inputs.flatten(2)], -1)
        count, points = index.shape[1], inputs.shape[1]
        rows = torch.cat(
            [
                known[:, None].expand(-1, count, -1, -1),
                index[:, :, None].expand(-1, -1, points, -1),
            ],
            -1,
        )
        found = self.small(own, rows.flatten(1, 2)).unflatten(1, (count, points))
        moved = (found.unflatten(-1, (-1, self.size)) * index[:, :, None, None]).sum(-1)
        with torch.no_grad():
            prior = {name: tensor.to(inputs) for name, tensor in self.prior.items()}
            fixed = self.network(prior, inputs.repeat_interleave(self.size, 0))
            along = fixed.unflatten(0, (-1, self.size))  # [L, D, M, C]
            scaled = self.config.prior_scale / self.size**0.5 * index
            added = (scaled @ along.flatten(2)).unflatten(-1, along.shape[2:])
        total: Tensor = center + moved + added
        return total


def combined(index: Tensor, directions: Tensor) -> Tensor:
    """``A z`` for ``[L, K, D]`` and ``[L, D, ...]``: ``[L, K, ...]``."""
    weights: Tensor = (index @ directions.flatten(2)).unflatten(-1, directions.shape[2:])
    return weights


def called(network: Network, weights: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """Outputs ``[L, K, M, C]`` of K networks a lane, ``[L, K, ...]``, at ``[L, M, *x]``."""
    count = next(iter(weights.values())).shape[1]
    flat = {name: tensor.flatten(0, 1) for name, tensor in weights.items()}
    outputs: Tensor = network(flat, inputs.repeat_interleave(count, 0))
    return outputs.view(-1, count, *outputs.shape[1:])
