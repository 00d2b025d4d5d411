"""Cyclical stochastic gradient Hamiltonian Monte Carlo (Zhang et al. 2020), on lanes.

Written here because libraries of such samplers (posteriors, torch-sgld) draw from torch's global
random state, on which a lane's numbers would depend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sqrt

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


@dataclass(frozen=True, kw_only=True)
class CyclicalSGHMCConfig(TrainingConfig):
    """Cyclical SG-HMC.

    ``learning_rate`` and ``batch_size`` are those of the network it starts from.

    Attributes:
        iterations: of all cycles together.
        cycles: M, how often the step size falls from its initial value to zero.
        step_size: α₀, at the start of a cycle.
        exploration: β, the share of a cycle without noise and without samples.
        friction: 1 − α, with α the momentum that is kept.
        temperature: T; None for ``1/n``, the posterior of a mean loss over n points, or ``2σ²/n``
            where a regression's noise is known.
        samples: models kept, evenly spaced over the sampling phases of the cycles.
        chain_batch_size: rows per iteration; None for all.
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
            raise ValueError(f"exploration must be in [0, 1), got {self.exploration}")
        if min(self.iterations, self.cycles, self.samples) < 1:
            raise ValueError(
                "iterations, cycles and samples must be at least 1, got "
                f"{self.iterations}, {self.cycles} and {self.samples}"
            )


class CyclicalSGHMC(Estimator):
    """Cyclical stochastic gradient Hamiltonian Monte Carlo.

    One chain per lane, started at the reference model or at a trained network.

    Source: Zhang et al. 2020
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: CyclicalSGHMCConfig,
        device: torch.device,
    ) -> None:
        self.trainer = Trainer(problem, seeds, config, device)

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Run the chains and keep models of each."""
        config = self.trainer.config
        data = self.trainer.to_device(data)
        network, start = self.trainer.reference_or_trained(data, reference_model, steps)
        stack = Stack(start)
        velocity = torch.zeros_like(stack.flat)
        generators = self.trainer.generators("chain")
        points = data.targets.shape[1]
        decay, temperature = (
            self.trainer.decay(points),
            config.temperature or self.trainer.temperature(points),
        )
        stream = shuffled(data, config.chain_batch_size, generators)
        kept = kept_iterations(config)
        samples: list[dict[str, Tensor]] = []
        for iteration in range(config.iterations):
            batch = next(stream)
            mean = losses(network(stack.weights, batch.inputs), batch.targets).mean(-1)
            gradient = stack.gradient(mean.sum())
            rate, place = step_size(config, iteration)
            noise = 0.0
            with torch.no_grad():
                velocity.mul_(1 - config.friction)
                velocity.sub_(rate * (gradient + decay * stack.flat))
                if place >= config.exploration:
                    noise = sqrt(2 * rate * config.friction * temperature)
                    velocity.add_(standard_normal(stack.flat, generators), alpha=noise)
                stack.flat.add_(velocity)
            if iteration in kept:
                samples.append(stack.snapshot())
        self.sample = NetworkSample(network, by_lane(samples), len(samples), data, reference_model)
        if self.trainer.regression:
            found = self.sample.noise_var
            self.sample.noise_var = self.trainer.noise_var(data, found, self.predict)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The spread of the kept models."""
        return self.sample.predict(inputs)


def step_size(config: CyclicalSGHMCConfig, iteration: int) -> tuple[float, float]:
    """``½ α₀ (1 + cos π t')`` (equation 1), and t', the share of the cycle that is over."""
    length = -(-config.iterations // config.cycles)
    place = (iteration % length) / length
    return 0.5 * config.step_size * (1 + cos(pi * place)), place


def kept_iterations(config: CyclicalSGHMCConfig) -> set[int]:
    """Iterations after which a model is kept: evenly spaced over the cycles' sampling phases."""
    sampling = [
        iteration
        for iteration in range(config.iterations)
        if step_size(config, iteration)[1] >= config.exploration
    ]
    count = min(config.samples, len(sampling))
    return {sampling[(k + 1) * len(sampling) // count - 1] for k in range(count)}
