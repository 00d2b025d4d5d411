"""QUAM (Schweighofer et al. 2023): uncertainty from adversarial models of every test point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from uqbench_predictive.networks.architectures import HEAD, Network, rows
from uqbench_predictive.networks.learning import mean_loss
from uqbench_predictive.networks.training import Trainer
from uqbench_predictive.uncertainty import regression, setting_a, setting_b

from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_quam.methods.config import QuamConfig
from uqbench_quam.methods.importance import posterior_weights
from uqbench_quam.methods.search import SearchTrace, away, search, toward

WORKING_SET = {"cpu": 160_000, "cuda": 2**26}
"""Weights of concurrent searches: on a CPU they and Adam's moments stay in the caches."""
MIN_SEARCHES = 16
"""Fewest concurrent searches: below, calling torch takes longer than computing."""
FORWARD_PASSES = 3
"""Per step of a search: a backward pass costs as much as two forward ones (section 4.2)."""


class Quam(Estimator):
    """Adversarial models of every test point.

    One search per test point and class; for a regression one up and one down.

    Source: Schweighofer et al. 2023
    """

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: QuamConfig, device: torch.device
    ) -> None:
        self.trainer = Trainer(problem, seeds, config, device)
        self.config = config

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Take the reference model, or train one: the searches start there."""
        trainer = self.trainer
        given = data = trainer.to_device(data)
        network, weights = trainer.reference_or_trained(data, reference_model, steps)
        self.reference_model = reference_model
        self.network: Network = network
        self.weights = weights
        self.reference_loss = mean_loss(network, weights, data).float()
        self.searched, self.start, self.data = network, weights, data
        if self.config.last_layer:
            self.searched = network.last_layer
            self.start = {name: weights[name] for name in HEAD}
            self.data = Data(self._features(data.inputs), data.targets)
        self.temperature = self.config.temperature or 1 / data.targets.shape[1]
        self.noise_var = self.reference_loss.double()  # σ̂² of equation 28
        self.noise_var = trainer.noise_var(given, self.noise_var, self.predict)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """Search for adversarial models of each of ``[L, M]`` points and weight their outputs."""
        points = inputs.to(self.trainer.device)
        if self.config.last_layer:
            points = self._features(points)
        groups = self._regression(points) if self.trainer.regression else self._classes(points)
        return _joined(list(groups), tuple(inputs.shape[:2]))

    @torch.no_grad()
    def _features(self, inputs: Tensor) -> Tensor:
        return self.network.features_and_outputs(self.weights, inputs)[0]

    def _classes(self, points: Tensor) -> Iterator[PredictiveUncertainty]:
        """Predictions for points ``[L, M, *x]``, in groups ``[G]``."""
        with torch.no_grad():
            reference = self.searched(self.start, points).double().log_softmax(-1)
        targets = self._target_classes(reference)
        flat = reference.flatten(0, 1)
        for lanes, group, span in self._groups(points, targets.shape[-1]):
            classes = targets.flatten(0, 1)[span]
            trace = self._search(lanes, group, classes.flatten())
            steps, k = len(trace.losses), classes.shape[1]
            members = trace.outputs.double().log_softmax(-1).unflatten(1, (-1, k))
            accepted = trace.accepted.unflatten(1, (-1, k))  # [T, G, K]
            if self.config.models == "best":
                step, any_ = (part.unflatten(0, (-1, k)) for part in trace.best())
                index = step[None, ..., None].expand(1, *members.shape[1:])
                best = members.gather(0, index)[0]
                members = torch.where(any_[..., None], best, flat[span][:, None]).movedim(1, 0)
                weights = None
                highest = members
            else:
                members = members.movedim(2, 1).flatten(0, 1)  # [T * K, G, C]
                losses = trace.losses.unflatten(1, (-1, k)).movedim(2, 1).flatten(0, 1)
                weights = posterior_weights(losses, self.temperature)
                mask = accepted.movedim(2, 1).reshape(steps * k, -1, 1)
                highest = members.masked_fill(~mask, -torch.inf)
            predicted = (
                setting_a(members, weights)
                if self.reference_model is None
                else setting_b(flat[span], members, weights)
            )
            reached = torch.maximum(highest.amax(0), flat[span]).exp()
            if self.reference_model is None and predicted.probs is not None:
                # models outside the radius weigh in the mean, and may say more than those inside
                reached = torch.maximum(reached, predicted.probs)
            yield replace(predicted, highest=reached)

    def _regression(self, points: Tensor) -> Iterator[PredictiveUncertainty]:
        """A regression: the spread of the best models of the two searches."""
        with torch.no_grad():
            reference = self.searched(self.start, points).squeeze(-1).flatten(0, 1)
        sign = torch.tensor([1.0, -1.0], device=self.trainer.device)
        for lanes, group, span in self._groups(points, 2):
            own = reference[span]
            trace = self._search(
                lanes, group, sign.repeat(len(own)), own.repeat_interleave(2), kick=True
            )
            step, any_ = trace.best()
            best = trace.outputs.squeeze(-1).gather(0, step[None])[0]
            lowest = trace.adversarial.gather(0, step[None])[0]
            farther = any_ & (lowest < 0)  # otherwise the result is the reference
            means = torch.where(farther, best, own.repeat_interleave(2)).unflatten(0, (-1, 2))
            noise = self.noise_var[lanes[::2]]
            yield regression(means.double().T, noise)

    def _search(
        self,
        lanes: Tensor,
        points: Tensor,
        targets: Tensor,
        reference: Tensor | None = None,
        *,
        kick: bool = False,
    ) -> SearchTrace:
        """Searches ``[S]``, as many at once as fit the working set.

        Targets are classes, or with ``reference`` values the directions away from them.
        """
        parts = []
        size = self._concurrent
        for first in range(0, len(lanes), size):
            span = slice(first, first + size)
            start = rows(self.start, lanes[span])
            if kick:
                start[HEAD[1]] += self.config.kick * targets[span, None, None]
            attack = (
                toward(targets[span]) if reference is None else away(reference[span], targets[span])
            )
            parts.append(
                search(
                    self.searched,
                    start,
                    self.data,
                    lanes[span],
                    points[span],
                    attack,
                    self.reference_loss[lanes[span]],
                    self.config,
                )
            )
        return SearchTrace(
            *(
                torch.cat([getattr(part, name) for part in parts], dim=1)
                for name in ("outputs", "losses", "adversarial", "accepted")
            )
        )

    @property
    def _concurrent(self) -> int:
        return max(MIN_SEARCHES, WORKING_SET[self.trainer.device.type] // self.searched.parameters)

    def _groups(self, points: Tensor, searches: int) -> Iterator[tuple[Tensor, Tensor, slice]]:
        """Lanes and points of the searches ``[S]`` of a group of points, and which points it is."""
        lanes, count = points.shape[:2]
        flat = points.flatten(0, 1)
        lane = torch.arange(lanes, device=points.device).repeat_interleave(count)
        size = max(1, self._concurrent // searches)
        for first in range(0, lanes * count, size):
            span = slice(first, first + size)
            yield (
                lane[span].repeat_interleave(searches),
                flat[span].repeat_interleave(searches, dim=0),
                span,
            )

    def _target_classes(self, reference: Tensor) -> Tensor:
        """The target classes of each point, ``[L, M, K]``: all, or the reference's top ones."""
        count = reference.shape[-1]
        if self.config.classes is not None:
            count = min(count, self.config.classes)
        if self.config.forward_passes is not None:
            count = min(count, affordable(self.config.forward_passes, self.config.search_steps))
        if count == reference.shape[-1]:
            return torch.arange(count, device=reference.device).expand(*reference.shape[:2], count)
        return reference.topk(count, dim=-1).indices


def affordable(forward_passes: int, search_steps: int) -> int:
    """Number of searches that the budget of a point pays for (section 4.2, "Compute efficiency").

    Raises:
        ValueError: it does not pay for one.
    """
    cost = FORWARD_PASSES * search_steps
    if forward_passes < cost:
        raise ValueError(
            f"a budget of {forward_passes} forward passes pays for no search: one of "
            f"{search_steps} steps costs {cost}; raise forward_passes or lower search_steps"
        )
    return forward_passes // cost


def _joined(
    parts: Sequence[PredictiveUncertainty], shape: tuple[int, ...]
) -> PredictiveUncertainty:
    """The predictions for groups of points as one of shape ``[L, M]``."""

    def field(name: str) -> Any:
        tensors = [getattr(part, name) for part in parts]
        return None if tensors[0] is None else torch.cat(tensors).cpu().unflatten(0, shape)

    names = ("total", "aleatoric", "epistemic", "probs", "mean", "highest")
    joined = {name: field(name) for name in names}
    return replace(parts[0], **joined, members=None)  # every input has models of its own
