"""What needs no model: a distance from the training inputs, a norm of the input, or a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from uqbench.contract.config import LATER
from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_predictive.networks.architectures import ROWS
from uqbench_predictive.uncertainty import entropy, values


@dataclass(frozen=True, kw_only=True)
class InputsConfig:
    """Which rule, and where its number stands.

    Attributes:
        score: ``nearest``, the Euclidean distance to the nearest training input; ``cosine``, the
            same of inputs scaled to length 1; ``norm``, the Euclidean norm of the input; or
            ``constant``, one number for all inputs.
        states: whether the number is the epistemic part, too: its square as a variance, and as it
            is about a reference model. Without one the nearest training input's class has the
            probability ``1 / (1 + d)`` at distance d, the rest is shared by all classes, and the
            entropy is the epistemic part; a constant is that part by itself.
        constant: of ``constant``: nats, or a standard deviation.
    """

    score: Literal["nearest", "cosine", "norm", "constant"] = "nearest"
    states: bool = field(default=False, metadata=LATER)
    constant: float = field(default=0.0, metadata=LATER)

    def __post_init__(self) -> None:
        if self.states and self.score == "norm":
            raise ValueError("expected a distance or a constant to state, got score = 'norm'")
        if self.constant < 0:
            raise ValueError(f"constant must be at least 0, got {self.constant}")


class Inputs(Estimator):
    """Inputs by their distance from the training inputs, by their norm, or all alike: no model.

    Predictions are the reference model's, or without one the classes' shares among the training
    targets, of a regression their mean and variance.
    """

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: InputsConfig, device: torch.device
    ) -> None:
        self.n_classes, self.config = problem.n_classes, config

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Keep the training data."""
        self.data, self.reference_model = data, reference_model

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The rule's number, and predictions that do not depend on the input unless it states."""
        score, targets, states = self._score(inputs), self.data.targets, self.config.states
        stated = score if states else torch.zeros_like(score)
        if self.n_classes == 0:
            lanes = [(lane.mean(), lane.var()) for lane in targets.double()]  # each by itself
            mean, noise = (torch.stack(part)[:, None] for part in zip(*lanes, strict=True))
            return replace(values(mean.expand_as(score), stated.square(), noise), score=score)
        if self.reference_model is not None:
            log_probs = self.reference_model.log_probs(inputs)
        elif states and self.config.score != "constant":
            log_probs = self._by_nearest(inputs, score)
            stated = entropy(log_probs)
        else:
            shares = one_hot(targets, self.n_classes).double().mean(1)
            log_probs = shares[:, None].expand(*score.shape, -1).clamp(min=1e-12).log()
        own = entropy(log_probs)
        aleatoric = own if self.reference_model is not None else (own - stated).clamp(min=0)
        probs = log_probs.exp()
        highest = probs if states else None
        return PredictiveUncertainty(
            aleatoric + stated, aleatoric, stated, probs, "nats", highest=highest, score=score
        )

    def _score(self, inputs: Tensor) -> Tensor:
        flat, known = self._flat(inputs)
        if self.config.score == "constant":
            return torch.full(flat.shape[:2], self.config.constant, dtype=torch.float64)
        if self.config.score == "norm":
            norm: Tensor = flat.norm(dim=-1)
            return norm.double()
        return torch.cat([nearest(part, known) for part in flat.split(ROWS, dim=1)], 1)

    def _flat(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and training inputs as vectors, by their cosine of length 1."""
        both = inputs.flatten(2), self.data.inputs.flatten(2)
        if self.config.score == "cosine":
            return normalize(both[0], dim=-1), normalize(both[1], dim=-1)
        return both

    def _by_nearest(self, inputs: Tensor, distance: Tensor) -> Tensor:
        """Log-probabilities ``[L, M, C]`` that fall with the distance of the nearest input."""
        flat, known = self._flat(inputs)
        index = torch.cat(
            [distances(part, known).argmin(-1) for part in flat.split(ROWS, dim=1)], 1
        )
        own = one_hot(self.data.targets.gather(1, index), self.n_classes).double()
        near = (1 / (1 + distance))[..., None]
        return (near * own + (1 - near) / self.n_classes).clamp(min=1e-12).log()


def nearest(inputs: Tensor, known: Tensor, neighbor: int = 1) -> Tensor:
    """Distance to the k-th nearest of ``known`` ``[L, n, D]``, for ``[L, M, D]``: ``[L, M]``."""
    return distances(inputs, known).kthvalue(neighbor, dim=-1).values


def distances(inputs: Tensor, known: Tensor) -> Tensor:
    """Distances of ``[L, M, D]`` from ``[L, n, D]``: ``[L, M, n]``."""
    exact = "donot_use_mm_for_euclid_dist"  # without cancellation, and the same for any lanes
    return torch.cdist(inputs.double(), known.double(), compute_mode=exact)
