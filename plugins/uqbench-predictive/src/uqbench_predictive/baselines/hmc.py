"""Hamiltonian Monte Carlo (Neal 1996), on lanes: the ground truth of the synthetic problems.

Every chain is a network of the stack, with its own momenta, trajectories and Metropolis steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
from uqbench_predictive.networks.architectures import Network, initial_weights
from uqbench_predictive.networks.learning import Stack, losses, standard_normal
from uqbench_predictive.networks.training import Trainer, TrainingConfig, repeat


@dataclass(frozen=True, kw_only=True)
class HMCConfig(TrainingConfig):
    """Hamiltonian Monte Carlo with the gradient of all data.

    Attributes:
        chains: independent chains, each from its own initial weights.
        burn_in: iterations of each chain that are discarded.
        iterations: of each chain that are kept.
        leapfrog: L, steps of a trajectory.
        step_size: ε.
        jitter: every chain draws the step size of each trajectory evenly from ``ε (1 ± jitter)``,
            lest all trajectories be half a period of some mode (Neal 2011, section 5.4.2.2); 0 for
            none.
        prior: normal prior of the weights: ``unit``, precision 1; or ``scaled``, variance ``2 /
            inputs of the layer``, which keeps a wide network's outputs at the scale of its inputs.
        noise_precision: of a regression's targets, ``1/σ²``.
    """

    chains: int = 4
    burn_in: Steps = 50
    iterations: Steps = 150
    leapfrog: int = 300
    step_size: float = 2e-3
    jitter: float = 0.2
    prior: Literal["unit", "scaled"] = "unit"
    noise_precision: float = 10.0

    def __post_init__(self) -> None:
        if not 0 <= self.jitter < 1:
            raise ValueError(f"jitter must be in [0, 1), got {self.jitter}")
        if min(self.chains, self.iterations, self.leapfrog) < 1:
            raise ValueError(
                "chains, iterations and leapfrog must be at least 1, got "
                f"{self.chains}, {self.iterations} and {self.leapfrog}"
            )


class HMC(Estimator):
    """Hamiltonian Monte Carlo with all data; ground truth of small problems.

    Chains start at their own initial weights; all kept states count equally.

    Source: Neal 1996

    Attributes:
        acceptance: share of the trajectories that were accepted, ``[L, chains]``.
    """

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: HMCConfig, device: torch.device
    ) -> None:
        self.trainer = Trainer(problem, seeds, config, device)

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Run the chains; ``steps``, the budget's optimization steps, are not used."""
        config, device = self.trainer.config, self.trainer.device
        data = self.trainer.to_device(data)
        network = self.trainer.network
        generators = self.trainer.member_generators("hmc", config.chains)
        start = initial_weights(network, generators)
        stack = Stack({name: tensor.to(device) for name, tensor in start.items()})
        posterior = Posterior(network, stack, repeat(data, config.chains), config)
        samples: list[dict[str, Tensor]] = []
        accepted = torch.zeros(len(generators), device=device)
        for iteration in range(config.burn_in + config.iterations):
            moved = posterior.iterate(generators)
            if iteration >= config.burn_in:
                samples.append(stack.snapshot())
                accepted += moved
        self.acceptance = (accepted / config.iterations).unflatten(0, (-1, config.chains)).cpu()
        members = len(samples) * config.chains
        self.sample = NetworkSample(network, by_lane(samples), members, data, reference_model)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The spread of the kept states."""
        return self.sample.predict(inputs)


class Posterior:
    """``log p(w | D)`` of a stack of networks, and moves that leave it invariant.

    Args:
        network: their architecture.
        stack: the chains' states, moved in place.
        data: of every chain, ``[S, n, ...]``.
        config: of the sampler.
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
            Whether each chain accepted it, ``[S]``.
        """
        flat, before = self._stack.flat, self._stack.flat.clone()
        momentum = standard_normal(flat, generators) * self._moves
        step = self._steps(generators)
        first = self.energy() + kinetic(momentum)
        momentum.addcmul_(self._gradient(), step / 2, value=-1)
        for remaining in reversed(range(self._config.leapfrog)):
            flat.addcmul_(momentum, step)
            momentum.addcmul_(self._gradient(), step if remaining else step / 2, value=-1)
        uniform = torch.stack([torch.rand((), generator=g) for g in generators]).to(flat)
        accepted = uniform.double().log() < first - (self.energy() + kinetic(momentum))
        flat.copy_(torch.where(accepted[:, None], flat, before))
        return accepted

    def _steps(self, generators: Sequence[torch.Generator]) -> Tensor:
        """The step size of each chain's trajectory, ``[S, 1]``."""
        config = self._config
        if config.jitter == 0:
            return torch.full((len(generators), 1), config.step_size).to(self._stack.flat)
        drawn = torch.stack([torch.rand((), generator=g) for g in generators]).to(self._stack.flat)
        return (config.step_size * (1 + config.jitter * (2 * drawn - 1)))[:, None]

    @torch.no_grad()
    def energy(self) -> Tensor:
        """``U(w) = −log p(D | w) − log p(w)`` up to a constant, ``[S]`` float64."""
        prior = 0.5 * (self._precision.double() * self._stack.flat.double().square()).sum(-1)
        return self._likelihood().double() + prior

    def _gradient(self) -> Tensor:
        """``∇U``, ``[S, P]``; overwritten by the next call."""
        gradient = self._stack.gradient(self._likelihood().sum())
        return gradient.addcmul_(self._precision, self._stack.flat)

    def _likelihood(self) -> Tensor:
        """``−log p(D | w)``, ``[S]``, differentiable."""
        rows = losses(self._network(self._stack.weights, self._data.inputs), self._data.targets)
        if self._data.targets.is_floating_point():
            rows = 0.5 * self._config.noise_precision * rows
        return rows.sum(-1)


def kinetic(momentum: Tensor) -> Tensor:
    """``½ ‖p‖²``, ``[S, P] -> [S]`` in float64."""
    return 0.5 * momentum.double().square().sum(-1)
