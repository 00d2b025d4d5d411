"""MNIST and the other data sets, on small files made here."""

import gzip
import io
import zipfile
from hashlib import md5
from pathlib import Path

import numpy as np
import pytest
import torch
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig
from uqbench_predictive.problems import mnist
from uqbench_predictive.problems.idx import DataError, File
from uqbench_predictive.problems.image_files import VARIABLE, data_folder
from uqbench_predictive.problems.mnist import MNIST, MNISTConfig

from uqbench.testing.worlds import asked_once

CPU = torch.device("cpu")


def images(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idx, small_lenet) -> Path:
    """Small data sets in the place of the published ones, under their names."""
    from PIL import Image

    labels = (np.arange(40) % 10).astype(np.uint8)
    letters = io.BytesIO()
    with zipfile.ZipFile(letters, "w") as archive:
        archive.writestr(mnist.LETTERS, gzip.compress(idx(images(12, 5))))
    drawn = io.BytesIO()
    with zipfile.ZipFile(drawn, "w") as archive:
        for name, gray in (("b/2.png", 255), ("a/1.png", 0)):
            png = io.BytesIO()
            Image.new("L", (105, 105), gray).save(png, "PNG")
            archive.writestr(f"images_evaluation/{name}", png.getvalue())
    contents = {
        "train-images": gzip.compress(idx(images(40, 1))),
        "train-labels": gzip.compress(idx(labels)),
        "test-images": gzip.compress(idx(images(20, 2))),
        "test-labels": gzip.compress(idx(labels[:20])),
        "fmnist": gzip.compress(idx(images(15, 3))),
        "kmnist": gzip.compress(idx(images(15, 4))),
        "emnist": letters.getvalue(),
        "omniglot": drawn.getvalue(),
    }
    files = {}
    for name, data in contents.items():
        file = mnist.FILES[name]
        path = tmp_path / file.path
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        files[name] = File(file.path, md5(data).hexdigest(), file.where)
    small_lenet(MNIST, files, tmp_path)
    monkeypatch.setattr(MNIST, "trained", 30)
    return tmp_path


def test_without_the_folder_the_error_says_which_files_to_put_where(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(DataError) as error:
        MNIST(MNISTConfig()).data([0])
    for part in ("UQBENCH_DATA", "mnist/train-images-idx3-ubyte.gz", "emnist/gzip.zip", "KMNIST"):
        assert part.lower() in str(error.value).lower()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(DataError, match="which is not a folder"):
        data_folder(mnist.FILES.values())


def test_out_of_distribution_images_are_oriented_as_mnists(folder):
    letters = mnist.letters(folder, MNIST.files["emnist"])
    assert np.array_equal(letters, images(12, 5).transpose(0, 2, 1))
    drawings = mnist.drawings(folder, MNIST.files["omniglot"])
    assert drawings.shape == (2, 28, 28)
    assert drawings[0].min() == 255  # a/1.png, black on the file: white
    assert drawings[1].max() == 0
    asked = MNIST(MNISTConfig(against="kmnist", points=15)).outside([0])[0]
    as_stored = {row.numpy().tobytes() for row in MNIST.normalized(images(15, 4))}
    assert {row.numpy().tobytes() for row in asked} == as_stored


@pytest.mark.parametrize("against", ["fmnist", "omniglot"])
def test_an_estimator_goes_through_mnist(folder, against):
    task = MNIST(MNISTConfig(against=against, points=2))
    seeds = [0, 1]
    data = task.data(seeds)
    assert data.inputs.shape == (2, 30, 28, 28)
    assert not torch.equal(data.targets[0], data.targets[1])
    gray = MNIST.normalized(np.array([[[0, 255]]], np.uint8)).flatten().tolist()
    assert gray == pytest.approx([-0.1307 / 0.3081, (1 - 0.1307) / 0.3081])
    estimator = Laplace(task.problem, seeds, LaplaceConfig(samples=5), CPU)
    estimator.fit(data, task.reference_model(seeds), steps=1)
    given = asked_once(task, seeds, estimator.predict)
    scores = task.score(seeds, given)
    assert set(scores) == {"auroc", "aupr", "fpr95", "retention_auc"}
    assert all(score.shape == (2,) and score.isfinite().all() for score in scores.values())
    other = MNIST(MNISTConfig(against="kmnist", points=3)).reference_model([1])
    shared = task.reference_model(seeds).log_probs(data.inputs)  # a task of a seed has the seed's
    assert torch.equal(other.log_probs(data.inputs[1:]), shared[1:])
    assert not torch.equal(other.log_probs(data.inputs[:1]), shared[:1])
