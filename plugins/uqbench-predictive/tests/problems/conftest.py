"""Small IDX files, and a LeNet trained on them in three steps."""

import gzip
import struct
from hashlib import md5, sha256

import numpy as np
import pytest
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
def small_files(tmp_path, monkeypatch):
    """From a data set's class and contents to files in the place of the published ones."""

    def small_files(kind, contents):
        files = {}
        for name, inside in contents.items():
            file = kind.files[name]
            path = tmp_path / file.path
            path.parent.mkdir(exist_ok=True)
            data = inside if inside[:2] == b"PK" else gzip.compress(inside)
            path.write_bytes(data)
            digests = md5(data).hexdigest(), file.where, sha256(inside).hexdigest()
            files[name] = File(file.path, *digests)
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
