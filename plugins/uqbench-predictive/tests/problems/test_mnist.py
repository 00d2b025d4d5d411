"""MNIST and other data sets, on small files made here; IDX files, archives, what errors say."""

import gzip
import io
import zipfile
from hashlib import md5, sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig
from uqbench_predictive.networks.training import TrainingConfig
from uqbench_predictive.problems import lenet_detection, mnist
from uqbench_predictive.problems.idx import DataError, File, content, member, parse_idx
from uqbench_predictive.problems.image_files import VARIABLE, data_folder
from uqbench_predictive.problems.mnist import MNIST, MNISTConfig

from uqbench.testing.worlds import asked_once


def images(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idx, small_files) -> Path:
    """Small data sets in the place of the published ones, under their names."""
    from PIL import Image

    labels, letters = (np.arange(40) % 10).astype(np.uint8), io.BytesIO()
    with zipfile.ZipFile(letters, "w") as archive:
        archive.writestr(mnist.LETTERS, gzip.compress(idx(images(12, 5))))
    drawn = io.BytesIO()
    with zipfile.ZipFile(drawn, "w") as archive:
        for name, gray in (("b/2.png", 255), ("a/1.png", 0)):
            png = io.BytesIO()
            Image.new("L", (105, 105), gray).save(png, "PNG")
            archive.writestr(f"images_evaluation/{name}", png.getvalue())
    arrays = {"train-images": images(40, 1), "train-labels": labels}
    arrays |= {"test-images": images(20, 2), "test-labels": labels[:20]}
    arrays |= {"fmnist": images(15, 3), "kmnist": images(15, 4)}
    zipped = {"emnist": letters.getvalue(), "omniglot": drawn.getvalue()}
    small_files(MNIST, {name: idx(array) for name, array in arrays.items()} | zipped)
    small = TrainingConfig(architecture="lenet", batch_size=10)
    for name, value in {"steps": 3, "training": small, "trained": 30}.items():
        monkeypatch.setattr(MNIST, name, value)
    monkeypatch.setattr(lenet_detection, "_REFERENCES", {})
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
    task, seeds = MNIST(MNISTConfig(against=against, points=2)), [0, 1]
    data = task.data(seeds)
    assert data.inputs.shape == (2, 30, 28, 28)
    assert not torch.equal(data.targets[0], data.targets[1])
    gray = MNIST.normalized(np.array([[[0, 255]]], np.uint8)).flatten().tolist()
    assert gray == pytest.approx([-0.1307 / 0.3081, (1 - 0.1307) / 0.3081])
    estimator = Laplace(task.problem, seeds, LaplaceConfig(samples=5), torch.device("cpu"))
    estimator.fit(data, task.reference_model(seeds), steps=1)
    scores = task.score(seeds, asked_once(task, seeds, estimator.predict))
    assert set(scores) == {"auroc", "aupr", "fpr95", "retention_auc"}
    assert all(score.shape == (2,) and score.isfinite().all() for score in scores.values())
    other = MNIST(MNISTConfig(against="kmnist", points=3)).reference_model([1])
    shared = task.reference_model(seeds).log_probs(data.inputs)  # a task of a seed has the seed's
    assert torch.equal(other.log_probs(data.inputs[1:]), shared[1:])
    assert not torch.equal(other.log_probs(data.inputs[:1]), shared[:1])


def test_idx_files_are_read_plain_and_gzipped_in_every_type(idx):
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert parse_idx(idx(array), "it", (2, 3)).tolist() == array.tolist()
    assert parse_idx(gzip.compress(idx(array)), "it", (None, 3)).tolist() == array.tolist()
    assert parse_idx(idx(np.array([1.5, -2.0], ">f4"), 0x0D), "it", (None,)).tolist() == [1.5, -2.0]


CORRUPTED = [
    (lambda idx: b"", "it is not an IDX file: it begins with nothing"),
    (lambda idx: b"PNG...", "it is not an IDX file: it begins with 50 4e 47"),
    (lambda idx: idx(np.zeros((2, 4), np.uint8)), "an array of 2 × 4, expected any × 3"),
    (lambda idx: idx(np.zeros(2, np.uint8)), "an array of 2, expected any × 3"),
    (lambda idx: idx(np.zeros((2, 3), np.uint8))[:-1], "5 bytes of data, its header says 6"),
    (lambda idx: gzip.compress(b"x")[:-9], "it cannot be decompressed"),
]


@pytest.mark.parametrize(("corrupted", "message"), CORRUPTED)
def test_errors_say_what_is_wrong_with_an_idx_file(idx, corrupted, message):
    with pytest.raises(DataError, match=message):
        parse_idx(corrupted(idx), "it", (None, 3))


def test_files_are_identified_by_their_checksum(tmp_path):
    file = File("sub/it.gz", md5(b"right").hexdigest(), "example.org/data")
    with pytest.raises(DataError, match=r"there is no .*it.gz; put the file .* example.org/data"):
        content(tmp_path, file)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "it.gz").write_bytes(b"wrong")
    with pytest.raises(DataError, match=f"expected {file.md5}; download it again"):
        content(tmp_path, file)
    (tmp_path / "sub" / "it.gz").write_bytes(b"right")
    assert content(tmp_path, file) == b"right"


def test_a_file_that_was_compressed_anew_is_identified_by_its_content(tmp_path):
    inside = sha256(b"content").hexdigest()
    file = File("it.gz", md5(b"as published").hexdigest(), "example.org", inside)
    (tmp_path / "it.gz").write_bytes(gzip.compress(b"content", 1))
    assert gzip.decompress(content(tmp_path, file)) == b"content"
    (tmp_path / "it.gz").write_bytes(gzip.compress(b"other"))
    with pytest.raises(DataError, match=f"the content of .*it.gz has .* expected {inside}"):
        content(tmp_path, file)
    (tmp_path / "it.gz").write_bytes(gzip.compress(b"content")[:-5])
    with pytest.raises(DataError, match="cannot be decompressed"):
        content(tmp_path, file)


def test_archives_without_the_file_are_rejected():
    with pytest.raises(DataError, match="it is not a zip archive"):
        member(b"nothing", "it", "inside")
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    with pytest.raises(DataError, match="it does not contain inside"):
        member(empty.getvalue(), "it", "inside")
