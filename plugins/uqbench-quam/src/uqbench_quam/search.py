"""Adversarial model search (Schweighofer et al. 2023, Algorithm 1), many searches in one program.

A search starts at the reference model and moves its weights: the prediction at one test point away
from the reference's, the training loss not up. Searches are a stack of networks: every test point
and every class is searched for by itself, and nothing passes from one to another.

The algorithm is read with its two slips put right: ``L_adv = −D`` is minimised, so a model is taken
where its ``L_adv`` is the *smallest* so far; and c grows by its schedule whether or not one is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from uqbench.estimator import Data
from uqbench_quam.config import QuamConfig
from uqbench_quam.learning import Stack, batches, losses
from uqbench_quam.networks import Network, Weights

Attack = Callable[[Tensor], Tensor]
"""From outputs at the searches' points ``[S, C]`` to ``L_adv`` ``[S]``, which is minimised."""


@dataclass(frozen=True)
class Visited:
    """The models that ``S`` searches met, one before each of ``T`` steps.

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

    def found(self) -> tuple[Tensor, Tensor]:
        """Line 7: the step at which ``L_adv`` was lowest among accepted models, ``[S]``.

        Returns:
            The step, and whether any model was accepted; where none was, the search's result is
            the reference.
        """
        masked = self.adversarial.masked_fill(~self.accepted, torch.inf)
        return masked.argmin(0), self.accepted.any(0)


def towards(classes: Tensor) -> Attack:
    """The targeted attack of section 3: ``L_adv = −log p̃(k)``, k ``[S]`` being the class sought.

    By equation 42 the divergence from the reference is, but for a constant, a cross-entropy; here
    it is the one of a single class, so that searches for different classes end in different models.
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
) -> Visited:
    """Search for an adversarial model of every test point and class at once.

    Args:
        network: what is moved: a whole network, or the last layer on features.
        start: where from, ``[S, ...]``.
        data: training data of the lanes, ``[L, n, ...]``.
        lanes: the lane of each search, ``[S]``.
        points: test point of each search, ``[S, *x]``.
        attack: what is minimised at it.
        reference_loss: ``L_ref``, the reference's mean loss on all training data, ``[S]``.
        config: settings.
    """
    stack = Stack(start)
    stream = batches(data, config.search_batch)
    met: list[tuple[Tensor, ...]] = []
    inputs, targets = torch.empty(0), torch.empty(0)
    for step in range(config.search_steps):
        if step == 0 or config.search_batch is not None:
            batch = next(stream)
            inputs = torch.cat([batch.inputs[lanes], points.unsqueeze(1)], dim=1)
            targets = batch.targets[lanes]
        outputs = network(stack.weights, inputs)
        loss = losses(outputs[:, :-1], targets).mean(-1)
        constraint = loss - (reference_loss + config.slack)  # L_pen
        adversarial = attack(outputs[:, -1])
        met.append((outputs[:, -1].detach(), loss.detach(), adversarial.detach()))
        if step < config.search_steps - 1:
            penalty = constraint.clamp(min=0) if config.hinge else constraint
            objective = adversarial + penalty_weight(config, step) * penalty
            stack.step(objective.sum(), search_rate(config, step), config.search_decay)
    at_point, loss, adversarial = (torch.stack(parts) for parts in zip(*met, strict=True))
    return Visited(at_point, loss, adversarial, loss <= reference_loss + config.slack)
