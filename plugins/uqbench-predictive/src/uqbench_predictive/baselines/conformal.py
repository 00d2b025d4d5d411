"""Split conformal prediction: sets and intervals that hold nine in ten targets of any law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import torch
from torch import Tensor

from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_predictive.baselines.post_hoc import PostHoc, PostHocConfig
from uqbench_predictive.baselines.scikit_learn import ScikitLearn, ScikitLearnConfig
from uqbench_predictive.networks.training import TrainingConfig

MISSED = 10
"""One target in so many may be outside."""


class Conformal(Estimator):
    """One network, and 90 % sets from its errors on validation data.

    The error at a point is one minus the probability of its class, or a regression's distance from
    the mean, or how far it is outside of a stated interval (below zero: inside); a set holds what
    would be no larger error than the ``⌈0.9 (n + 1)⌉``-th smallest of n validation points. If they
    and a test point are exchangeable, its target is in its set with probability
    ``⌈0.9 (n + 1)⌉ / (n + 1)``. A set is empty where nine tenths of the validation classes were
    more probable than any class is.

    Source: Lei et al. 2018; Sadinle et al. 2019
    """

    network: Estimator

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: TrainingConfig, device: torch.device
    ) -> None:
        self.network = PostHoc(problem, seeds, PostHocConfig(**asdict(config)), device)

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Take or train the network, and learn how far it is off.

        Raises:
            ValueError: the problem has no validation data, or fewer than nine.
        """
        self.network.fit(data, reference_model, steps)
        held = data.validation
        if held is None:
            raise ValueError("conformal sets need validation data, and this task has none")
        said = self.network.predict(held.inputs)
        if said.probs is not None:
            errors = 1 - said.probs.gather(-1, held.targets[..., None]).squeeze(-1)
        else:
            low, high = ends(said)
            errors = torch.maximum(low - held.targets, held.targets - high)
        self.most = quantile(errors)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The network's prediction, with the sets."""
        said = self.network.predict(inputs)
        if said.probs is not None:
            return replace(said, classes=1 - said.probs <= self.most[:, None, None])
        low, high = ends(said)
        half, middle = self.most[:, None], (low + high) / 2
        low, high = torch.minimum(low - half, middle), torch.maximum(high + half, middle)
        return replace(said, interval=torch.stack([low, high], -1))


class ConformalBoosting(Conformal):
    """Gradient boosting with conformal sets: of values conformalized quantile regression.

    The boosted 5 % and 95 % quantiles, both moved outwards by the same number (inwards where they
    hold too much, at most to their middle).

    Source: Romano et al. 2019
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: ScikitLearnConfig,
        device: torch.device,
    ) -> None:
        self.network = ScikitLearn(problem, seeds, config, device)


def ends(said: PredictiveUncertainty) -> tuple[Tensor, Tensor]:
    """The ends of a regression's interval, ``[L, M]`` each, float64; the mean twice without any."""
    if said.interval is not None:
        low, high = said.interval.double().unbind(-1)
        return low, high
    return center(said), center(said)


def center(said: PredictiveUncertainty) -> Tensor:
    """The mean of a regression, ``[L, M]``, float64."""
    assert said.mean is not None
    return said.mean.double()


def quantile(errors: Tensor) -> Tensor:
    """The ``⌈0.9 (n + 1)⌉``-th smallest of ``[L, n]`` errors, ``[L]``.

    Raises:
        ValueError: there are fewer than nine, of which none is large enough.
    """
    n = errors.shape[1]
    rank = n + 1 - (n + 1) // MISSED
    if rank > n:
        raise ValueError(f"90 % sets need at least {MISSED - 1} validation points, got {n}")
    return errors.kthvalue(rank, dim=-1).values
