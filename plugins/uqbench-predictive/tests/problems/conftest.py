"""Small IDX files, and a LeNet trained on them in three steps."""

import gzip
import struct
from hashlib import sha256

import numpy as np
import pytest
from uqbench_predictive.networks.training import TrainingConfig
from uqbench_predictive.problems import lenet_detection
from uqbench_predictive.problems.idx import File
from uqbench_predictive.problems.image_files import VARIABLE


def to_idx(array: np.ndarray, code: int = 8) -> bytes:
    header = struct.pack(">BBBB", 0, 0, code, array.ndim)
    return header + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def idx():
    """From an array and a type code to the bytes of an IDX file."""
    return to_idx


@pytest.fixture
def small_lenet(monkeypatch):
    """From a data set's class, files and their folder: it reads these and learns three steps."""

    def small_lenet(kind, files, folder):
        monkeypatch.setattr(kind, "files", files)
        monkeypatch.setattr(kind, "steps", 3)
        small = TrainingConfig(architecture="lenet", batch_size=10)
        monkeypatch.setattr(kind, "training", small)
        monkeypatch.setattr(lenet_detection, "_REFERENCES", {})
        monkeypatch.setenv(VARIABLE, str(folder))

    return small_lenet


@pytest.fixture
def small_files(tmp_path, monkeypatch):
    """From a data set's class and contents to files in the place of the published ones."""

    def small_files(kind, contents):
        files = {}
        for name, inside in contents.items():
            file = kind.files[name]
            path = tmp_path / file.path
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(gzip.compress(inside))
            files[name] = File(file.path, file.md5, file.where, sha256(inside).hexdigest())
        monkeypatch.setattr(kind, "files", files)
        monkeypatch.setenv(VARIABLE, str(tmp_path))

    return small_files


@pytest.fixture
def csv():
    """From images and labels to the bytes of a file of rows, the label last."""

    def csv(images, labels):
        rows = np.concatenate([images.reshape(len(images), -1), labels[:, None]], 1)
        return "\n".join(",".join(map(str, row)) for row in rows.tolist()).encode()

    return csv
