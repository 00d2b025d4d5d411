"""Adversarial model search (Schweighofer et al. 2023, Algorithm 1), many searches at once.

A search starts at the reference model and moves its weights so that the prediction at one test
point departs from the reference's while the training loss does not rise. Searches are a stack of
networks: every test point and every class has a search of its own, and searches do not interact.

Two slips of the algorithm are corrected: ``L_adv = −D`` is minimized, so a model is taken where its
``L_adv`` is the *smallest* so far; and c grows by its schedule whether or not one is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from uqbench_predictive.networks.architectures import Network, Weights
from uqbench_predictive.networks.learning import Stack, batches, losses

from uqbench.contract.estimator import Data
from uqbench_quam.methods.config import QuamConfig

Attack = Callable[[Tensor], Tensor]
"""From outputs at the test points ``[S, C]`` to ``L_adv`` ``[S]``, which is minimized."""


@dataclass(frozen=True)
class SearchTrace:
    """The models along ``S`` searches, one before each of ``T`` steps.

    Attributes:
        outputs: at the search's test point, ``[T, S, C]``.
        losses: mean training loss, on the step's batch, ``[T, S]``.
        adversarial: ``L_adv``, ``[T, S]``.
        accepted: whether ``L_pen ≤ 0``: the training loss is within γ of the reference's.
    """

    outputs: Tensor
    losses: Tensor
    adversarial: Tensor
    accepted: Tensor

    def best(self) -> tuple[Tensor, Tensor]:
        """Line 7: the step at which ``L_adv`` was lowest among accepted models, ``[S]``.

        Returns:
            The step, and whether any model was accepted; where none was, the search's result is
            the reference.
        """
        masked = self.adversarial.masked_fill(~self.accepted, torch.inf)
        return masked.argmin(0), self.accepted.any(0)


def toward(classes: Tensor) -> Attack:
    """The targeted attack of section 3: ``L_adv = −log p̃(k)`` for the target classes k ``[S]``.

    By equation 42 the divergence from the reference is, up to a constant, a cross-entropy; here it
    is that of a single class, so that searches for different classes end in different models.
    """
    return lambda outputs: F.cross_entropy(outputs, classes, reduction="none")


def away(reference: Tensor, direction: Tensor) -> Attack:
    """A regression's attack, section C.1: up (1) or down (−1) from the reference ``[S]``."""
    return lambda outputs: -direction * (outputs.squeeze(-1) - reference)


def penalty_weight(config: QuamConfig, step: int) -> float:
    """``c = c₀ η^{⌊t/u⌋}`` of step t."""
    return float(config.penalty * config.growth ** (step // config.period))


def search_rate(config: QuamConfig, step: int) -> float:
    """The step size of step t: constant, or ``α η^{−⌊t/u⌋}``, which keeps its product with c."""
    if not config.scales_rate:
        return config.search_rate
    return float(config.search_rate * config.growth ** -(step // config.period))


def search(
    network: Network,
    start: Weights,
    data: Data,
    lanes: Tensor,
    points: Tensor,
    attack: Attack,
    reference_loss: Tensor,
    config: QuamConfig,
) -> SearchTrace:
    """Run Algorithm 1 for every test point and class at once.

    Args:
        network: what is moved: a whole network, or the last layer on features.
        start: the reference's weights, ``[S, ...]``.
        data: training data of the lanes, ``[L, n, ...]``.
        lanes: the lane of each search, ``[S]``.
        points: test point of each search, ``[S, *x]``.
        attack: what is minimized at that point.
        reference_loss: ``L_ref``, the reference's mean loss on all training data, ``[S]``.
        config: of the search.
    """
    stack = Stack(start)
    stream = batches(data, config.search_batch)
    trace: list[tuple[Tensor, ...]] = []
    inputs, targets = torch.empty(0), torch.empty(0)
    for step in range(config.search_steps):
        if step == 0 or config.search_batch is not None:
            batch = next(stream)
            inputs = torch.cat([batch.inputs[lanes], points.unsqueeze(1)], dim=1)
            targets = batch.targets[lanes]
        outputs = network(stack.weights, inputs)
        loss = losses(outputs[:, :-1], targets).mean(-1)
        penalty = loss - (reference_loss + config.slack)  # L_pen
        adversarial = attack(outputs[:, -1])
        trace.append((outputs[:, -1].detach(), loss.detach(), adversarial.detach()))
        if step < config.search_steps - 1:
            objective = adversarial + penalty_weight(config, step) * penalty
            stack.step(objective.sum(), search_rate(config, step), config.search_decay)
    at_point, loss, adversarial = (torch.stack(parts) for parts in zip(*trace, strict=True))
    return SearchTrace(at_point, loss, adversarial, loss <= reference_loss + config.slack)
