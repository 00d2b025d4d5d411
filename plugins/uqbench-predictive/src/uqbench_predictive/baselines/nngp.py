"""The Gaussian process of an infinitely wide network, with all training points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench.contract.seeding import derive_seed
from uqbench.lanes import lane_generators
from uqbench_predictive.baselines.post_hoc import temperature
from uqbench_predictive.networks.training import likeliest_noise
from uqbench_predictive.problems.infinite_width import kernel, marginals
from uqbench_predictive.uncertainty import setting_a, values

TEMPERATURES = torch.logspace(-2.7, 0.6, 331, dtype=torch.float64)
"""From .002 to 4; values are regressed on zero and one, and so are no logits yet."""


@dataclass(frozen=True, kw_only=True)
class NNGPConfig:
    """The process.

    Attributes:
        layers: hidden ones.
        weight_decay: variance of the values' noise, over the mean prior variance at the training
            inputs: a ridge.
        samples: draws of the process at a point.
    """

    layers: int = 2
    weight_decay: float = 1e-2
    samples: int = 100

    def __post_init__(self) -> None:
        if min(self.layers, self.samples) < 1 or self.weight_decay <= 0:
            raise ValueError(
                "expected layers and samples of at least 1 and a weight_decay above 0, got "
                f"{self.layers}, {self.samples} and {self.weight_decay}"
            )


class NNGP(Estimator):
    """Regression of values, or of each class's indicator, made probabilities by a temperature.

    The kernel is that of fully connected ReLU networks of infinite width. For each class's value a
    sample is drawn at each input by itself; the validation data choose the temperature, of values
    the variance of the noise, given the process's mean and variance.

    Source: Jaehoon Lee et al. 2018, "Deep neural networks as Gaussian processes"
    """

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: NNGPConfig, device: torch.device
    ) -> None:
        self.n_classes, self.seeds, self.config = problem.n_classes, seeds, config

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Keep the training data, and choose the temperature, or the noise.

        Raises:
            ValueError: the task has a reference model, or no validation data.
        """
        if reference_model is not None or data.validation is None:
            raise ValueError(
                "nngp predicts without a reference model, and learns a temperature or a noise: "
                "expected a task in setting (a) with validation data"
            )
        self.known = data.inputs.flatten(2).double()
        if self.n_classes == 0:
            self.targets = data.targets.double()
            self.noise_var = torch.zeros(len(data.targets), dtype=torch.float64)
            self.noise_var = likeliest_noise(
                self.predict(data.validation.inputs), data.validation.targets
            )
            return
        self.shares = one_hot(data.targets, self.n_classes).double()
        held = data.validation
        self.temperature = temperature(self._values(held.inputs), held.targets, among=TEMPERATURES)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The spread of the values at each input; it is each input's own: there are no members."""
        if self.n_classes == 0:
            lanes = [
                self._marginals(known, targets[:, None], x)
                for known, targets, x in zip(
                    self.known, self.targets, inputs.flatten(2).double(), strict=True
                )
            ]
            means, variances = (torch.stack(part) for part in zip(*lanes, strict=True))
            return values(means.squeeze(-1), variances, self.noise_var[:, None])
        logits = self._values(inputs) / self.temperature[:, None, None]
        return replace(setting_a(logits.log_softmax(-1)), members=None)

    def _values(self, inputs: Tensor) -> Tensor:
        """Draws of the classes' values, ``[S, L, M, C]``."""
        generators = lane_generators([derive_seed("nngp", seed) for seed in self.seeds])
        drawn = []
        for known, shares, x, generator in zip(
            self.known, self.shares, inputs.flatten(2).double(), generators, strict=True
        ):
            center = shares.mean(0)
            mean, variance = self._marginals(known, shares - center, x)
            shape = (self.config.samples, *mean.shape)
            noise = torch.randn(shape, generator=generator, dtype=torch.float64)
            drawn.append(center + mean + variance.sqrt()[:, None] * noise)
        return torch.stack(drawn, 1)

    def _marginals(self, known: Tensor, targets: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Means ``[M, T]`` and variance ``[M]`` of a lane's process, given targets ``[n, T]``."""
        scales, width = (2.0,) * self.config.layers, self.known.shape[-1]
        size = kernel(known, known, 2 / width, scales).diagonal().mean()
        ridge = float(self.config.weight_decay * size)
        return marginals(known, targets, x, ridge, 2 / width, scales)
