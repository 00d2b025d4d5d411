"""Fixtures of this package's tests."""

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
    sizes = {"test": 12, "ood": 9, "adv": 8} if networks else {}
    return held | {f"networks_{name}": normal(3, count, 4) for name, count in sizes.items()}


@pytest.fixture
def features(tmp_path, monkeypatch):
    """Writes a small file of ImageNet features, with networks or not; has its arrays."""

    def write(networks: bool = True, **changed: np.ndarray | None) -> dict[str, np.ndarray]:
        path, held = tmp_path / "features.npz", arrays(networks) | changed
        np.savez(path, **{name: array for name, array in held.items() if array is not None})
        imagenet.features.cache_clear()
        monkeypatch.setenv(imagenet.VARIABLE, str(path))
        return held

    return write


@pytest.fixture
def fit():
    """From an estimator's class, config and problem to one that has learned its data."""

    def fit(kind, config, task, data=None, *, seeds=(1,), steps=1):
        estimator = kind(task.problem, list(seeds), config, torch.device("cpu"))
        estimator.fit(data or task.data(seeds), task.reference_model(seeds), steps)
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
