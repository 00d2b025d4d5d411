"""Small IDX files, and a LeNet trained on them in three steps."""

import struct

import numpy as np
import pytest
from uqbench_predictive.networks.training import TrainingConfig
from uqbench_predictive.problems import lenet_detection
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
