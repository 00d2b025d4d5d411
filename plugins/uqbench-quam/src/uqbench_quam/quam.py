"""QUAM (Schweighofer et al. 2023): uncertainty from adversarial models of every test point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Estimator, PredictiveUncertainty, ReferenceModel
from uqbench_quam.config import QuamConfig
from uqbench_quam.given import given_or_trained, mean_loss, on
from uqbench_quam.importance import posterior_weights
from uqbench_quam.networks import HEAD, Network, rows
from uqbench_quam.search import Visited, away, search, towards
from uqbench_quam.uncertainty import given, selected, spread

WORKING_SET = {"cpu": 160_000, "cuda": 2**26}
"""Weights of the searches that run at once: on a CPU they and Adam's moments stay in the caches."""
LEAST = 16
"""Searches that run at once at least: below, calling torch takes longer than computing."""
FORWARD_PASSES = 3
"""Of a search's step: a backward pass costs as much as two forward ones (section 4.2)."""


class Quam(Estimator):
    """For every test point one search a class, or for a regression one up and one down."""

    def __init__(
        self, task: Dataset, seeds: Sequence[int], config: QuamConfig, device: torch.device
    ) -> None:
        self.task = task
        self.seeds = seeds
        self.config = config
        self.device = device

    def fit(self, data: Data, reference: ReferenceModel | None, steps: int) -> None:
        """Take the given model, or train one, as where the searches start."""
        data = on(data, self.device)
        network, weights = given_or_trained(
            self.task, data, reference, self.seeds, steps, self.config
        )
        self.reference = reference
        self.network: Network = network
        self.weights = weights
        self.reference_loss = mean_loss(network, weights, data).float()
        self.searched, self.start, self.data = network, weights, data
        if self.config.last_layer:
            self.searched = network.last_layer
            self.start = {name: weights[name] for name in HEAD}
            self.data = Data(self._features(data.inputs), data.targets)
        self.temperature = self.config.temperature or 1 / data.targets.shape[1]

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """Search for adversarial models of each of ``[L, M]`` points, and weigh what they say."""
        points = inputs.to(self.device)
        if self.config.last_layer:
            points = self._features(points)
        regression = self.task.n_classes == 0
        stated = list((self._values if regression else self._classes)(points))
        return _joined(stated, tuple(inputs.shape[:2]))

    @torch.no_grad()
    def _features(self, inputs: Tensor) -> Tensor:
        return self.network.features(self.weights, inputs)

    def _classes(self, points: Tensor) -> Iterator[PredictiveUncertainty]:
        """What is stated about points ``[L, M, *x]``, some ``[G]`` of them after another."""
        with torch.no_grad():
            reference = self.searched(self.start, points).double().log_softmax(-1)
        sought = self._sought(reference)
        flat = reference.flatten(0, 1)
        for lanes, group, span in self._groups(points, sought.shape[-1]):
            classes = sought.flatten(0, 1)[span]
            visited = self._search(lanes, group, classes.flatten())
            steps, k = len(visited.losses), classes.shape[1]
            members = visited.outputs.double().log_softmax(-1).unflatten(1, (-1, k))
            accepted = visited.accepted.unflatten(1, (-1, k))  # [T, G, K]
            if self.config.models == "found":
                step, any_ = (part.unflatten(0, (-1, k)) for part in visited.found())
                index = step[None, ..., None].expand(1, *members.shape[1:])
                best = members.gather(0, index)[0]
                members = torch.where(any_[..., None], best, flat[span][:, None]).movedim(1, 0)
                weights = None
                highest = members
            else:
                members = members.movedim(2, 1).flatten(0, 1)  # [T * K, G, C]
                losses = visited.losses.unflatten(1, (-1, k)).movedim(2, 1).flatten(0, 1)
                weights = posterior_weights(losses, self.temperature)
                mask = accepted.movedim(2, 1).reshape(steps * k, -1, 1)
                highest = members.masked_fill(~mask, -torch.inf)
            stated = (
                selected(members, weights)
                if self.reference is None
                else given(flat[span], members, weights)
            )
            reached = torch.maximum(highest.amax(0), flat[span]).exp()
            yield replace(stated, highest=reached)

    def _values(self, points: Tensor) -> Iterator[PredictiveUncertainty]:
        """A regression: the spread of the two models that the searches found."""
        with torch.no_grad():
            reference = self.searched(self.start, points).squeeze(-1).flatten(0, 1)
        sign = torch.tensor([1.0, -1.0], device=self.device)
        for lanes, group, span in self._groups(points, 2):
            own = reference[span]
            visited = self._search(
                lanes, group, sign.repeat(len(own)), own.repeat_interleave(2), kick=True
            )
            step, any_ = visited.found()
            best = visited.outputs.squeeze(-1).gather(0, step[None])[0]
            lowest = visited.adversarial.gather(0, step[None])[0]
            farther = any_ & (lowest < 0)  # otherwise the result is the reference
            means = torch.where(farther, best, own.repeat_interleave(2)).unflatten(0, (-1, 2))
            noise = self.reference_loss[lanes[::2]].double()  # σ̂² of equation 28
            yield spread(means.double().T, noise)

    def _search(
        self,
        lanes: Tensor,
        points: Tensor,
        sought: Tensor,
        reference: Tensor | None = None,
        *,
        kick: bool = False,
    ) -> Visited:
        """Searches ``[S]``, as many at once as fit the working set."""
        parts = []
        size = self._at_once
        for first in range(0, len(lanes), size):
            span = slice(first, first + size)
            start = rows(self.start, lanes[span])
            if kick:
                start[HEAD[1]] += self.config.kick * sought[span, None, None]
            attack = (
                towards(sought[span]) if reference is None else away(reference[span], sought[span])
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
        return Visited(
            *(
                torch.cat([getattr(part, name) for part in parts], dim=1)
                for name in ("outputs", "losses", "adversarial", "accepted")
            )
        )

    @property
    def _at_once(self) -> int:
        return max(LEAST, WORKING_SET[self.device.type] // self.searched.parameters)

    def _groups(self, points: Tensor, searches: int) -> Iterator[tuple[Tensor, Tensor, slice]]:
        """Lanes and points of the searches ``[S]`` of a few points, and which points they are."""
        lanes, count = points.shape[:2]
        flat = points.flatten(0, 1)
        lane = torch.arange(lanes, device=points.device).repeat_interleave(count)
        size = max(1, self._at_once // searches)
        for first in range(0, lanes * count, size):
            span = slice(first, first + size)
            yield (
                lane[span].repeat_interleave(searches),
                flat[span].repeat_interleave(searches, dim=0),
                span,
            )

    def _sought(self, reference: Tensor) -> Tensor:
        """The classes that are searched for, ``[L, M, K]``: all, or the reference's first ones."""
        count = reference.shape[-1]
        if self.config.classes is not None:
            count = min(count, self.config.classes)
        if self.config.forward_passes is not None:
            count = min(count, affordable(self.config.forward_passes, self.config.search_steps))
        if count == reference.shape[-1]:
            return torch.arange(count, device=reference.device).expand(*reference.shape[:2], count)
        return reference.topk(count, dim=-1).indices


def affordable(forward_passes: int, search_steps: int) -> int:
    """Searches that a budget of a point pays for (section 4.2, "Compute efficiency").

    Raises:
        ValueError: not one.
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
    """What was stated about some points after another as one statement of ``[L, M]``."""

    def field(name: str) -> Any:
        tensors = [getattr(part, name) for part in parts]
        return None if tensors[0] is None else torch.cat(tensors).cpu().unflatten(0, shape)

    names = ("total", "aleatoric", "epistemic", "probs", "mean", "highest")
    return replace(parts[0], **{name: field(name) for name in names})
