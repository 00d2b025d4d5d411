"""Fixtures of this package's tests."""

from pathlib import Path

import numpy as np
import pytest
import torch
from uqbench_predictive.problems import imagenet
from uqbench_predictive.testing import points, predict, problem, toy

__all__ = ["points", "predict", "problem", "toy"]


def arrays(networks: bool) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return generator.normal(size=shape).astype(np.float32)

    held = {"weight": normal(5, 4), "bias": normal(4)}
    for name, count in {"train": 30, "test": 12}.items():
        held[f"{name}_features"] = normal(count, 5)
        held[f"{name}_labels"] = generator.integers(0, 4, count)
    held |= {"ood_features": 4 * normal(9, 5), "adv_features": normal(8, 5)}
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
def fit():
    """From an estimator's class, config and problem to one that has learned its data."""

    def fit(kind, config, task, data=None, *, seeds=(1,), steps=1):
        estimator = kind(task.problem, list(seeds), config, torch.device("cpu"))
        given = data or task.data(seeds)
        estimator.fit(given, task.reference_model(seeds), steps)
        return estimator

    return fit


@pytest.fixture
def line(points):
    """From data and two precisions to the points' means and variances by a line's posterior."""

    def line(data, noise, prior):
        phi, x = (torch.cat([of, torch.ones(len(of), 1)], 1).double()
                  for of in (data.inputs[0], points))  # fmt: skip
        covariance = torch.linalg.inv(noise * phi.T @ phi + prior * torch.eye(3))
        mean = covariance @ (noise * phi.T @ data.targets[0].double())
        return x @ mean, (x @ covariance * x).sum(-1)

    return line
