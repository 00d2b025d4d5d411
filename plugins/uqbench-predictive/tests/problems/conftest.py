"""Small IDX files."""

from __future__ import annotations

import struct

import numpy as np
import pytest


def to_idx(array: np.ndarray, code: int = 8) -> bytes:
    header = struct.pack(">BBBB", 0, 0, code, array.ndim)
    return header + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def idx():
    """From an array and a type code to the bytes of an IDX file."""
    return to_idx
