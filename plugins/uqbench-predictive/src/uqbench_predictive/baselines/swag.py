"""SWAG (Maddox et al. 2019): a normal with the moments of the weights that SGD visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from uqbench.contract.config import Steps
from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_predictive.baselines.sample import NetworkSample, by_lane
from uqbench_predictive.networks.learning import Stack, losses, shuffled, standard_normal
from uqbench_predictive.networks.training import Trainer, TrainingConfig

MOMENTUM = 0.9


@dataclass(frozen=True, kw_only=True)
class SWAGConfig(TrainingConfig):
    """SWAG.

    ``learning_rate`` and ``batch_size`` are those of the network it starts from.

    Attributes:
        iterations: of gradient descent with momentum.
        step_size: η, constant.
        descent_batch_size: rows per iteration; None for all.
        states: T, how many visited weights the moments are of, evenly spaced.
        rank: K, the last states, whose deviations are the covariance's low-rank part.
        samples: S, networks drawn.
    """

    iterations: Steps = 1_000
    step_size: float = 1e-2
    descent_batch_size: int | None = None
    states: int = 100
    rank: int = 20
    samples: int = 30

    def __post_init__(self) -> None:
        if min(self.iterations, self.samples) < 1 or not 2 <= self.rank <= self.states:
            raise ValueError(
                "expected iterations and samples of at least 1, and 2 ≤ rank ≤ states; got "
                f"{self.iterations}, {self.samples}, {self.rank} and {self.states}"
            )


class SWAG(Estimator):
    """Networks drawn from a normal around the mean of stochastic gradient descent's weights.

    Descent goes on at a constant step size from the reference model or a trained network.

    Source: Maddox et al. 2019
    """

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: SWAGConfig, device: torch.device
    ) -> None:
        self.trainer = Trainer(problem, seeds, config, device)

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Descend, and draw the networks."""
        config = self.trainer.config
        data = self.trainer.to_device(data)
        network, start = self.trainer.reference_or_trained(data, reference_model, steps)
        stack = Stack(start)
        velocity = torch.zeros_like(stack.flat)
        generators = self.trainer.generators("descent")
        stream = shuffled(data, config.descent_batch_size, generators)
        moments = Moments(config.rank)
        decay = self.trainer.decay(data.targets.shape[1])
        kept = min(config.states, config.iterations)
        for iteration in range(config.iterations):
            batch = next(stream)
            mean = losses(network(stack.weights, batch.inputs), batch.targets).mean(-1)
            gradient = stack.gradient(mean.sum())
            with torch.no_grad():
                velocity.mul_(MOMENTUM).add_(gradient + decay * stack.flat)
                stack.flat.sub_(config.step_size * velocity)
            if (iteration + 1) * kept // config.iterations > iteration * kept // config.iterations:
                moments.add(stack.flat)
        drawn = []
        for _ in range(config.samples):
            with torch.no_grad():
                stack.flat.copy_(moments.draw(generators))
            drawn.append(stack.snapshot())
        self.sample = NetworkSample(network, by_lane(drawn), len(drawn), data, reference_model)
        if self.trainer.regression:
            found = self.sample.noise_var
            self.sample.noise_var = self.trainer.noise_var(data, found, self.predict)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The spread of the networks."""
        return self.sample.predict(inputs)


class Moments:
    """First and second moments of weights ``[L, P]``, and deviations from their running mean.

    Args:
        rank: K, how many deviations are kept.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.count = 0
        self.mean = self.square = torch.zeros(())
        self.deviations: list[Tensor] = []

    def add(self, weights: Tensor) -> None:
        """Update them: Maddox et al. 2019, Algorithm 1."""
        own = weights.detach().double()
        self.mean = (self.count * self.mean + own) / (self.count + 1)
        self.square = (self.count * self.square + own.square()) / (self.count + 1)
        self.count += 1
        self.deviations = [*self.deviations, own - self.mean][-self.rank :]

    def draw(self, generators: Sequence[torch.Generator]) -> Tensor:
        """``θ̄ + Σ_diag^½ z₁ / √2 + D z₂ / √(2 (K − 1))``, equation 1: ``[L, P]``.

        Its covariance is half that of the diagonal, half that of the deviations.
        """
        deviations = torch.stack(self.deviations, 1)  # [L, K, P]
        variance = (self.square - self.mean.square()).clamp(min=0)
        low_rank = standard_normal(deviations[..., 0], generators)[:, None] @ deviations
        diagonal = standard_normal(self.mean, generators) * variance.sqrt()
        divisor = sqrt(max(len(self.deviations) - 1, 1))
        return self.mean + (diagonal + low_rank.squeeze(1) / divisor) / sqrt(2)
