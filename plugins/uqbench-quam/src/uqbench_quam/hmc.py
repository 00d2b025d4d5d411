"""Hamiltonian Monte Carlo (Neal 1996): the ground truth of the synthetic problems, on lanes.

Every chain is a network of the stack, with momenta, trajectories and Metropolis steps of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Estimator, PredictiveUncertainty, ReferenceModel
from uqbench.lanes import lane_generators
from uqbench.seeding import derive_seed
from uqbench_quam.config import HMCConfig
from uqbench_quam.cyclical import normal
from uqbench_quam.given import architecture, on, repeated
from uqbench_quam.learning import Stack, losses
from uqbench_quam.models import Models
from uqbench_quam.networks import Network, initial_weights


class HMC(Estimator):
    """Chains from initial weights of their own; every kept state counts alike.

    Attributes:
        acceptance: share of the trajectories that were accepted, ``[L, chains]``.
    """

    def __init__(
        self, task: Dataset, seeds: Sequence[int], config: HMCConfig, device: torch.device
    ) -> None:
        self.task = task
        self.seeds = seeds
        self.config = config
        self.device = device

    def fit(self, data: Data, reference: ReferenceModel | None, steps: int) -> None:
        """Run the chains; the budget's steps, which are those of an optimiser, play no part."""
        config = self.config
        data = on(data, self.device)
        network = architecture(self.task, config)
        own = [
            derive_seed("hmc", seed, chain) for seed in self.seeds for chain in range(config.chains)
        ]
        generators = lane_generators(own)
        start = initial_weights(network, generators)
        stack = Stack({name: tensor.to(self.device) for name, tensor in start.items()})
        posterior = Posterior(network, stack, repeated(data, config.chains), config)
        samples: list[dict[str, Tensor]] = []
        accepted = torch.zeros(len(own), device=self.device)
        for iteration in range(config.burn_in + config.iterations):
            took = posterior.iterate(generators)
            if iteration >= config.burn_in:
                samples.append(stack.snapshot())
                accepted += took
        self.acceptance = (accepted / config.iterations).unflatten(0, (-1, config.chains)).cpu()
        weights = {
            name: torch.stack([sample[name] for sample in samples], dim=1).flatten(0, 1)
            for name in start
        }
        self.models = Models(network, weights, len(samples) * config.chains, data, reference)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """What the kept models state."""
        return self.models.state(inputs)


class Posterior:
    """``log p(w | D)`` of a stack of networks, and moves that leave it as it is.

    Args:
        network: of what kind.
        stack: the chains' states, moved in place.
        data: of every chain, ``[S, n, ...]``.
        config: settings.
    """

    def __init__(self, network: Network, stack: Stack, data: Data, config: HMCConfig) -> None:
        self._network = network
        self._stack = stack
        self._data = data
        self._config = config
        self._precision = torch.zeros_like(stack.flat)
        at = 0
        for name, tensor in stack.weights.items():
            size = tensor[0].numel()
            scaled = config.prior == "scaled" and name.endswith("weight")
            self._precision[:, at : at + size] = tensor.shape[1] / 2 if scaled else 1.0
            at += size
        self._moves = (self._precision > 0).to(stack.flat)  # padding stays zero

    def iterate(self, generators: Sequence[torch.Generator]) -> Tensor:
        """One trajectory of L leapfrog steps and its Metropolis step.

        Returns:
            Whether each chain took it, ``[S]``.
        """
        flat, step = self._stack.flat, self._config.step_size
        before = flat.clone()
        momentum = normal(flat, generators) * self._moves
        first = self.energy() + kinetic(momentum)
        momentum.sub_(self._gradient(), alpha=step / 2)
        for remaining in reversed(range(self._config.leapfrog)):
            flat.add_(momentum, alpha=step)
            momentum.sub_(self._gradient(), alpha=step if remaining else step / 2)
        uniform = torch.stack([torch.rand((), generator=g) for g in generators]).to(flat)
        took = uniform.double().log() < first - (self.energy() + kinetic(momentum))
        flat.copy_(torch.where(took[:, None], flat, before))
        return took

    @torch.no_grad()
    def energy(self) -> Tensor:
        """``U(w) = −log p(D | w) − log p(w)`` but for a constant, ``[S]`` float64."""
        prior = 0.5 * (self._precision.double() * self._stack.flat.double().square()).sum(-1)
        return self._likelihood().double() + prior

    def _gradient(self) -> Tensor:
        """``∇U``, ``[S, P]``; overwritten by the next."""
        gradient = self._stack.gradient(self._likelihood().sum())
        return gradient.addcmul_(self._precision, self._stack.flat)

    def _likelihood(self) -> Tensor:
        """``−log p(D | w)``, ``[S]``, with its graph."""
        rows = losses(self._network(self._stack.weights, self._data.inputs), self._data.targets)
        if self._data.targets.is_floating_point():
            rows = 0.5 * self._config.noise_precision * rows
        return rows.sum(-1)


def kinetic(momentum: Tensor) -> Tensor:
    """``½ ‖p‖²``, ``[S, P] -> [S]`` in float64."""
    return 0.5 * momentum.double().square().sum(-1)
