"""Loaders on small files that the tests make: what they read, and what they say is wrong."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from hashlib import md5
from pathlib import Path

import numpy as np
import pytest
import torch
from uqbench_quam import imagenet, mnist
from uqbench_quam.config import DeepEnsembleConfig, QuamConfig
from uqbench_quam.ensemble import DeepEnsemble
from uqbench_quam.idx import DataError, File, content, member, parse_idx
from uqbench_quam.imagenet import FurtherNetworks, ImageNet, ImageNetOptions, NetworksConfig
from uqbench_quam.mnist import MNIST, MNISTOptions, normalised
from uqbench_quam.quam import Quam

from uqbench.estimator import PredictiveUncertainty

CPU = torch.device("cpu")


def idx(array: np.ndarray, code: int = 8) -> bytes:
    header = struct.pack(">BBBB", 0, 0, code, array.ndim)
    return header + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def images(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small data sets in the place of the published ones, under their names."""
    from PIL import Image

    labels = (np.arange(40) % 10).astype(np.uint8)
    letters = io.BytesIO()
    with zipfile.ZipFile(letters, "w") as archive:
        archive.writestr(mnist.LETTERS, gzip.compress(idx(images(12, 5))))
    drawn = io.BytesIO()
    with zipfile.ZipFile(drawn, "w") as archive:
        for name, grey in (("b/2.png", 255), ("a/1.png", 0)):
            png = io.BytesIO()
            Image.new("L", (105, 105), grey).save(png, "PNG")
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
    monkeypatch.setattr(mnist, "FILES", files)
    monkeypatch.setattr(mnist, "REFERENCE_STEPS", 3)
    monkeypatch.setattr(mnist, "TRAINED", 30)
    small = DeepEnsembleConfig(architecture="lenet", batch_size=10)
    monkeypatch.setattr(mnist, "REFERENCE", small)
    monkeypatch.setenv(mnist.VARIABLE, str(tmp_path))
    return tmp_path


def test_idx_files_are_read_plain_and_gzipped_in_every_type():
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert parse_idx(idx(array), "it", (2, 3)).tolist() == array.tolist()
    assert parse_idx(gzip.compress(idx(array)), "it", (None, 3)).tolist() == array.tolist()
    floats = np.array([1.5, -2.0], ">f4")
    assert parse_idx(idx(floats, 0x0D), "it", (None,)).tolist() == [1.5, -2.0]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (b"", "it is no IDX file: it begins with nothing"),
        (b"PNG...", "it is no IDX file: it begins with 50 4e 47"),
        (idx(np.zeros((2, 4), np.uint8)), "an array of 2 × 4, expected any × 3"),
        (idx(np.zeros(2, np.uint8)), "an array of 2, expected any × 3"),
        (idx(np.zeros((2, 3), np.uint8))[:-1], "5 bytes of data, its header says 6"),
        (gzip.compress(idx(np.zeros((2, 3), np.uint8)))[:-9], "it cannot be unpacked"),
    ],
)
def test_what_is_no_such_idx_file_is_told(read, message):
    with pytest.raises(DataError, match=message):
        parse_idx(read, "it", (None, 3))


def test_files_are_known_by_their_checksum(tmp_path):
    file = File("sub/it.gz", md5(b"right").hexdigest(), "example.org/data")
    with pytest.raises(DataError, match=r"there is no .*it.gz; put the file .* example.org/data"):
        content(tmp_path, file)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "it.gz").write_bytes(b"wrong")
    with pytest.raises(DataError, match=f"expected {file.md5}; download it again"):
        content(tmp_path, file)
    (tmp_path / "sub" / "it.gz").write_bytes(b"right")
    assert content(tmp_path, file) == b"right"


def test_archives_without_the_file_are_told():
    with pytest.raises(DataError, match="it is no zip archive"):
        member(b"nothing", "it", "inside")
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    with pytest.raises(DataError, match="it holds no inside"):
        member(empty.getvalue(), "it", "inside")


def test_without_the_folder_it_is_said_which_files_to_put_where(monkeypatch, tmp_path):
    monkeypatch.delenv(mnist.VARIABLE, raising=False)
    with pytest.raises(DataError) as told:
        MNIST(MNISTOptions()).data([0])
    for part in ("UQBENCH_DATA", "mnist/train-images-idx3-ubyte.gz", "emnist/gzip.zip", "KMNIST"):
        assert part.lower() in str(told.value).lower()
    monkeypatch.setenv(mnist.VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(DataError, match="which is no folder"):
        mnist.data_folder()


def test_foreign_images_are_turned_as_mnists_are(folder):
    letters = mnist.foreign_images(folder, "emnist")
    assert np.array_equal(letters, images(12, 5).transpose(0, 2, 1))
    drawings = mnist.foreign_images(folder, "omniglot")
    assert drawings.shape == (2, 28, 28)
    assert drawings[0].min() == 255  # a/1.png, black on the file: white
    assert drawings[1].max() == 0
    assert np.array_equal(mnist.foreign_images(folder, "kmnist"), images(15, 4))


@pytest.mark.parametrize("against", ["fmnist", "omniglot"])
def test_an_estimator_goes_through_mnist(folder, against):
    task = MNIST(MNISTOptions(against=against, points=2))
    seeds = [0, 1]
    data = task.data(seeds)
    assert data.inputs.shape == (2, 30, 28, 28)
    assert not torch.equal(data.targets[0], data.targets[1])
    grey = normalised(np.array([[[0, 255]]], np.uint8)).flatten().tolist()
    assert grey == pytest.approx([-0.1307 / 0.3081, (1 - 0.1307) / 0.3081])
    estimator = Quam(task, seeds, QuamConfig(search_steps=3, search_batch=10), CPU)
    estimator.fit(data, task.reference_model(seeds), steps=1)
    scores = task.score(seeds, estimator.predict)
    assert set(scores) == {"auroc", "aupr", "fpr95", "retention_auc"}
    assert all(score.shape == (2,) and score.isfinite().all() for score in scores.values())


def arrays(networks: bool = True) -> dict[str, np.ndarray]:
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
def written(tmp_path, monkeypatch):
    def write(held: dict[str, np.ndarray]) -> Path:
        path = tmp_path / "features.npz"
        np.savez(path, **held)
        imagenet.features.cache_clear()
        monkeypatch.setenv(imagenet.VARIABLE, str(path))
        return path

    return write


@pytest.mark.parametrize("against", ["ood", "adversarial", "errors"])
def test_estimators_go_through_imagenets_features(written, against):
    held = arrays()
    written(held)
    task = ImageNet(ImageNetOptions(against=against, points=12))
    seeds = [0, 1]
    logits = held["test_features"] @ held["weight"] + held["bias"]
    stated = task.reference_model(seeds).log_probs(
        torch.from_numpy(held["test_features"])[None].expand(2, -1, -1)
    )
    expected = torch.from_numpy(logits).double().log_softmax(-1)
    assert torch.allclose(stated[1], expected, atol=1e-5)
    for estimator in (
        Quam(task, seeds, QuamConfig(search_steps=3, search_batch=10, classes=2), CPU),
        DeepEnsemble(task, seeds, DeepEnsembleConfig(hidden=(), members=2, batch_size=10), CPU),
        FurtherNetworks(task, seeds, NetworksConfig(), CPU),
    ):
        estimator.fit(task.data(seeds), task.reference_model(seeds), steps=2)
        scores = task.score(seeds, estimator.predict)
        assert all(score.shape == (2,) and score.isfinite().all() for score in scores.values())


def test_further_networks_are_found_by_the_images_features(written):
    held = arrays()
    written(held)
    task = ImageNet(ImageNetOptions())
    estimator = FurtherNetworks(task, [0], NetworksConfig(), CPU)
    estimator.fit(task.data([0]), None, steps=1)
    said = estimator.predict(torch.from_numpy(held["ood_features"][[4, 2]])[None])
    members = torch.from_numpy(held["networks_ood"]).double().softmax(-1).mean(0)[[4, 2]]
    assert torch.allclose(said.probs[0], members)


def test_errors_are_those_of_the_given_network(written):
    held = arrays(networks=False)
    written(held)
    task = ImageNet(ImageNetOptions(against="errors", points=12))
    wrong = (held["test_features"] @ held["weight"] + held["bias"]).argmax(1) != held["test_labels"]
    by_features = dict(zip(map(bytes, held["test_features"]), wrong, strict=True))

    def oracle(inputs: torch.Tensor) -> PredictiveUncertainty:
        stated = torch.tensor(
            [[float(by_features[bytes(r.numpy())]) for r in rows] for rows in inputs]
        )
        return PredictiveUncertainty(stated, 0 * stated, stated, None, "nats")

    assert task.score([0], oracle)["auroc"].tolist() == [1.0]
    with pytest.raises(DataError, match="no logits of further networks"):
        FurtherNetworks(task, [0], NetworksConfig(), CPU)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bias": None}, "has no array 'bias'; expected weight, bias"),
        ({"bias": np.zeros(5)}, r"bias has shape \(5,\), expected \[C\] with C = 4"),
        ({"test_labels": np.zeros((12, 1))}, r"expected \[m\]"),
        ({"networks_adv": None}, "has no array 'networks_adv'"),
        ({"ood_features": np.zeros((9, 6))}, r"expected \[k, H\] with H = 5"),
    ],
)
def test_what_is_wrong_with_the_features_is_told(written, change, message):
    held = {name: array for name, array in (arrays() | change).items() if array is not None}
    written(held)
    with pytest.raises(DataError, match=message):
        ImageNet(ImageNetOptions())


def test_without_the_features_it_is_said_how_to_name_them(monkeypatch):
    monkeypatch.delenv(imagenet.VARIABLE, raising=False)
    with pytest.raises(DataError, match=r"UQBENCH_IMAGENET to a \.npz file"):
        ImageNet(ImageNetOptions())
