"""Cyclical stochastic gradient Hamiltonian Monte Carlo (Zhang et al. 2020), on lanes.

Written here because libraries of such samplers (posteriors, torch-sgld) draw from torch's global
random state, on which a lane's numbers would depend.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sqrt

import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Estimator, PredictiveUncertainty, ReferenceModel
from uqbench.lanes import lane_generators
from uqbench.seeding import derive_seed
from uqbench_quam.config import CyclicalConfig
from uqbench_quam.given import given_or_trained, on
from uqbench_quam.learning import Stack, losses, shuffled
from uqbench_quam.models import Models


class CyclicalSGHMC(Estimator):
    """A chain a lane, from the given or a trained network on."""

    def __init__(
        self, task: Dataset, seeds: Sequence[int], config: CyclicalConfig, device: torch.device
    ) -> None:
        self.task = task
        self.seeds = seeds
        self.config = config
        self.device = device

    def fit(self, data: Data, reference: ReferenceModel | None, steps: int) -> None:
        """Run the chains and keep models of each."""
        config = self.config
        data = on(data, self.device)
        network, start = given_or_trained(self.task, data, reference, self.seeds, steps, config)
        stack = Stack(start)
        velocity = torch.zeros_like(stack.flat)
        generators = lane_generators([derive_seed("chain", seed) for seed in self.seeds])
        temperature = config.temperature or 1 / data.targets.shape[1]
        stream = shuffled(data, config.chain_batch_size, generators)
        kept = keeps(config)
        samples: list[dict[str, Tensor]] = []
        for iteration in range(config.iterations):
            batch = next(stream)
            mean = losses(network(stack.weights, batch.inputs), batch.targets).mean(-1)
            gradient = stack.gradient(mean.sum())
            rate, place = step_size(config, iteration)
            noise = 0.0
            with torch.no_grad():
                velocity.mul_(1 - config.friction)
                velocity.sub_(rate * (gradient + config.weight_decay * stack.flat))
                if place >= config.exploration:
                    noise = sqrt(2 * rate * config.friction * temperature)
                    velocity.add_(normal(stack.flat, generators), alpha=noise)
                stack.flat.add_(velocity)
            if iteration in kept:
                samples.append(stack.snapshot())
        weights = {
            name: torch.stack([sample[name] for sample in samples], dim=1).flatten(0, 1)
            for name in start
        }
        self.models = Models(network, weights, len(samples), data, reference)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """What the kept models state."""
        return self.models.state(inputs)


def step_size(config: CyclicalConfig, iteration: int) -> tuple[float, float]:
    """``½ α₀ (1 + cos π t')`` (equation 1), and t', the share of the cycle that is over."""
    length = -(-config.iterations // config.cycles)
    place = (iteration % length) / length
    return 0.5 * config.step_size * (1 + cos(pi * place)), place


def keeps(config: CyclicalConfig) -> set[int]:
    """Iterations after which a model is kept: evenly spaced over where the cycles sample."""
    sampling = [
        iteration
        for iteration in range(config.iterations)
        if step_size(config, iteration)[1] >= config.exploration
    ]
    count = min(config.samples, len(sampling))
    return {sampling[(k + 1) * len(sampling) // count - 1] for k in range(count)}


def normal(like: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
    """Standard normal numbers of the shape ``[S, P]``, a row from a generator of its own."""
    rows = [torch.randn(like.shape[1], generator=generator) for generator in generators]
    return torch.stack(rows).to(like)
