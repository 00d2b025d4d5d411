"""Fixtures for tests of estimators: a small problem, points, and what an estimator predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch

from uqbench.contract.estimator import (
    Data,
    Dataset,
    Estimator,
    EvaluationSet,
    PredictiveUncertainty,
)
from uqbench_predictive.networks.reference import ReferenceNetwork
from uqbench_predictive.networks.training import Trainer, TrainingConfig

CPU = torch.device("cpu")
POINTS = torch.randn(7, 2, generator=torch.Generator().manual_seed(99)) * 3
Predicting = Callable[[type[Estimator], Any, Dataset, list[int]], PredictiveUncertainty]


class Toy(Dataset):
    """Three classes, or a line, in two dimensions; with a reference model, or without."""

    inputs = (2,)

    def __init__(self, n_classes: int = 3, reference: bool = False) -> None:
        self.n_classes = n_classes
        self.reference = reference

    def data(self, seeds: Sequence[int]) -> Data:
        """24 points per lane."""
        inputs = torch.stack(
            [torch.randn(24, 2, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
        )
        if self.n_classes == 0:
            return Data(inputs, inputs.sum(-1))
        return Data(inputs, (inputs[..., 0] > 0).long() + (inputs[..., 1] > 0).long())

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork | None:
        """A small network, in setting (b)."""
        if not self.reference:
            return None
        trainer = Trainer(self.problem, seeds, TrainingConfig(hidden=(8,)), CPU)
        return ReferenceNetwork(trainer.network, trainer.train(self.data(seeds), 60))

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """The seven points."""
        return {"points": EvaluationSet(POINTS.expand(len(seeds), -1, -1))}


@pytest.fixture
def toy() -> type[Toy]:
    """The problem's class."""
    return Toy


@pytest.fixture
def points() -> torch.Tensor:
    """Seven points, ``[7, 2]``."""
    return POINTS


@pytest.fixture
def predict() -> Predicting:
    """From an estimator's class, config, problem and seeds to its prediction at the points."""

    def predict(
        kind: type[Estimator], config: Any, task: Dataset, seeds: list[int]
    ) -> PredictiveUncertainty:
        estimator = kind(task.problem, seeds, config, CPU)
        estimator.fit(task.data(seeds), task.reference_model(seeds), steps=30)
        return estimator.predict(POINTS.expand(len(seeds), -1, -1))

    return predict


@pytest.fixture
def problem() -> Callable[[int], Data]:
    """From a number of lanes to data of three classes in two dimensions."""

    def problem(lanes: int = 1) -> Data:
        generator = torch.Generator().manual_seed(0)
        inputs = torch.randn(lanes, 30, 2, generator=generator)
        return Data(inputs, (inputs[..., 0] > 0).long() + (inputs[..., 1] > 1).long())

    return problem
