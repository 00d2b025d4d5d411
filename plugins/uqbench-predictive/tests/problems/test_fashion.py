"""Fashion-MNIST and the images it is distinguished from, on small files made here."""

from __future__ import annotations

import gzip
from hashlib import sha256

import numpy as np
import pytest
import torch
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig
from uqbench_predictive.problems.fashion import Fashion, FashionConfig
from uqbench_predictive.problems.idx import File

CPU = torch.device("cpu")


def images(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path, small_lenet, idx):
    """Small files in the place of the published ones, identified by their contents."""
    labels = (np.arange(40) % 10).astype(np.uint8)
    rows = np.concatenate([images(6, 3).reshape(6, -1), np.arange(6)[:, None]], 1)
    contents = {
        "train-images": idx(images(40, 1)),
        "train-labels": idx(labels),
        "test-images": idx(images(20, 2)),
        "test-labels": idx(labels[:20]),
        "digits": "\n".join(",".join(map(str, row)) for row in rows.tolist()).encode(),
    }

    def write(file: File, inside: bytes) -> File:
        path = tmp_path / file.path
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(inside))
        return File(file.path, file.md5, file.where, sha256(inside).hexdigest())

    files = {name: write(Fashion.files[name], inside) for name, inside in contents.items()}
    small_lenet(Fashion, files, tmp_path)


def asked(task: Fashion, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The test and the out-of-distribution images that a task asks an estimator about."""
    sets = task.evaluation_sets([seed])
    return sets["test"].inputs[0], sets["outside"].inputs[0]


def test_test_images_are_rotated_or_inverted_and_digits_are_others(folder):
    tested, rotated = asked(Fashion(FashionConfig(against="rotated", points=4)), 0)
    assert torch.equal(rotated, torch.rot90(tested, dims=(1, 2)))
    same, inverted = asked(Fashion(FashionConfig(against="inverted", points=4)), 0)
    assert torch.equal(same, tested)
    gray = (tested * Fashion.deviation + Fashion.mean) * 255
    assert torch.allclose(
        (inverted * Fashion.deviation + Fashion.mean) * 255, 255 - gray, atol=1e-3
    )
    _, digits = asked(Fashion(FashionConfig(against="digits", points=4)), 0)
    known = {row.numpy().tobytes() for row in Fashion.normalized(images(6, 3))}
    assert {row.numpy().tobytes() for row in digits} <= known


def test_an_estimator_goes_through_and_tasks_of_a_seed_share_the_reference_model(folder):
    task, other = (
        Fashion(FashionConfig(against=against, points=2)) for against in ("digits", "rotated")
    )
    data = task.data([0, 1])
    assert data.inputs.shape == (2, 40, 28, 28)
    estimator = Laplace(task, [0, 1], LaplaceConfig(samples=5), CPU)
    estimator.fit(data, task.reference_model([0, 1]), steps=1)
    given = task.predictions([0, 1], estimator.predict, task.reference_model([0, 1]))
    scores = task.score([0, 1], given)
    assert all(score.shape == (2,) and score.isfinite().all() for score in scores.values())
    points = Fashion.normalized(images(3, 4))[None]
    one = other.reference_model([1]).log_probs(points)
    assert torch.equal(
        task.reference_model([0, 1]).log_probs(points.expand(2, -1, -1, -1))[1], one[0]
    )
    assert not torch.equal(task.reference_model([0]).log_probs(points), one)
