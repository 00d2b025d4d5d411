"""What needs no model: inputs by their distance from the training inputs, or by their norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

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
    """Which rule.

    Attributes:
        score: ``nearest``, the Euclidean distance to the nearest training input; ``cosine``, the
            same of inputs scaled to length 1; or ``norm``, the Euclidean norm of the input.
    """

    score: Literal["nearest", "cosine", "norm"] = "nearest"


class Inputs(Estimator):
    """Inputs by their distance from the training inputs, or by their norm: a line, no model.

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
        """The rule's number, and predictions that do not depend on the input."""
        flat = inputs.flatten(2)
        if self.config.score == "norm":
            score = flat.norm(dim=-1).double()
        else:
            known = self.data.inputs.flatten(2)
            if self.config.score == "cosine":
                flat, known = normalize(flat, dim=-1), normalize(known, dim=-1)
            score = torch.cat([nearest(part, known) for part in flat.split(ROWS, dim=1)], 1)
        targets, zero = self.data.targets, torch.zeros_like(score)
        if self.n_classes == 0:
            lanes = [(lane.mean(), lane.var()) for lane in targets.double()]  # each by itself
            mean, noise = (torch.stack(part)[:, None] for part in zip(*lanes, strict=True))
            return replace(values(mean.expand_as(score), zero, noise), score=score)
        if self.reference_model is None:
            shares = one_hot(targets, self.n_classes).double().mean(1)
            log_probs = shares[:, None].expand(*score.shape, -1).clamp(min=1e-12).log()
        else:
            log_probs = self.reference_model.log_probs(inputs)
        own = entropy(log_probs)
        return PredictiveUncertainty(own, own, zero, log_probs.exp(), "nats", score=score)


def nearest(inputs: Tensor, known: Tensor, neighbor: int = 1) -> Tensor:
    """Distance to the k-th nearest of ``known`` ``[L, n, D]``, for ``[L, M, D]``: ``[L, M]``."""
    exact = "donot_use_mm_for_euclid_dist"  # without cancellation, and the same for any lanes
    distances = torch.cdist(inputs.double(), known.double(), compute_mode=exact)
    return distances.kthvalue(neighbor, dim=-1).values
