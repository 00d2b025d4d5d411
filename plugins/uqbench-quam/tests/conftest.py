"""Fixtures of this package's tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from uqbench_quam.networks.reference import ReferenceNetwork
from uqbench_quam.networks.training import Trainer, TrainingConfig
from uqbench_quam.problems import imagenet

from uqbench.estimator import Data, Dataset, Estimator
from uqbench.testing.fixtures import one_torch_thread

__all__ = ["one_torch_thread"]

CPU = torch.device("cpu")
POINTS = torch.randn(7, 2, generator=torch.Generator().manual_seed(99)) * 3


class Toy(Dataset):
    """Three classes, or a line, in two dimensions; with a reference model, or without."""

    inputs = (2,)

    def __init__(self, n_classes: int = 3, reference: bool = False) -> None:
        self.n_classes = n_classes
        self.reference = reference

    def data(self, seeds: Sequence[int]) -> Data:
        inputs = torch.stack(
            [torch.randn(24, 2, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
        )
        if self.n_classes == 0:
            return Data(inputs, inputs.sum(-1))
        return Data(inputs, (inputs[..., 0] > 0).long() + (inputs[..., 1] > 0).long())

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork | None:
        if not self.reference:
            return None
        trainer = Trainer(self, seeds, TrainingConfig(hidden=(8,)), CPU)
        return ReferenceNetwork(trainer.network, trainer.train(self.data(seeds), 60))

    def evaluation_sets(self, seeds):
        raise NotImplementedError


@pytest.fixture
def toy() -> type[Dataset]:
    return Toy


@pytest.fixture
def points() -> torch.Tensor:
    """Seven points, ``[7, 2]``."""
    return POINTS


@pytest.fixture
def predict():
    """From an estimator's class, config, problem and seeds to its prediction at the points."""

    def predict(kind: type[Estimator], config, task: Dataset, seeds: list[int]):
        estimator = kind(task, seeds, config, CPU)
        estimator.fit(task.data(seeds), task.reference_model(seeds), steps=30)
        return estimator.predict(POINTS.expand(len(seeds), -1, -1))

    return predict


def arrays(networks: bool) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return generator.normal(size=shape).astype(np.float32)

    held = {
        "weight": normal(5, 4),
        "bias": normal(4),
        "train_features": normal(30, 5),
        "train_labels": generator.integers(0, 4, 30),
        "test_features": normal(12, 5),
        "test_labels": generator.integers(0, 4, 12),
        "ood_features": 4 * normal(9, 5),
        "adv_features": normal(8, 5),
    }
    if networks:
        held |= {f"networks_{name}": normal(3, count, 4) for name, count in SIZES.items()}
    return held


SIZES = {"test": 12, "ood": 9, "adv": 8}


@pytest.fixture
def features() -> dict[str, np.ndarray]:
    """The arrays of a small file of ImageNet features, with further networks."""
    return arrays(networks=True)


@pytest.fixture
def features_alone() -> dict[str, np.ndarray]:
    """The same without further networks."""
    return arrays(networks=False)


@pytest.fixture
def features_file(tmp_path, monkeypatch):
    def write(held: dict[str, np.ndarray]) -> Path:
        path = tmp_path / "features.npz"
        np.savez(path, **held)
        imagenet.features.cache_clear()
        monkeypatch.setenv(imagenet.VARIABLE, str(path))
        return path

    return write


@pytest.fixture
def problem():
    """From a number of lanes to data of three classes in two dimensions."""

    def problem(lanes: int = 1) -> Data:
        generator = torch.Generator().manual_seed(0)
        inputs = torch.randn(lanes, 30, 2, generator=generator)
        return Data(inputs, (inputs[..., 0] > 0).long() + (inputs[..., 1] > 1).long())

    return problem
