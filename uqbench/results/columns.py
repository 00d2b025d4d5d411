"""Tables as columns, the contents of a run's data files."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[Any]]
"""Columns of equal length by name."""


class RunColumns(NamedTuple):
    """All that a run leaves behind.

    Attributes:
        metrics: records of its metrics.
        episodes: its episodes.
        curves: of how good its uncertainty is, for pictures; None where nobody asked.
        agent: its agent's final state, as ``torch.save`` writes it; None where nobody asked.
        predictions: of an estimator, a row a point; columns of several numbers are ``[N, C]``.
    """

    metrics: Columns
    episodes: Columns
    curves: Columns | None = None
    agent: bytes | None = None
    predictions: Columns | None = None


def columns_digest(*tables: Columns) -> str:
    """The sha256 of the tables' values, independent of the file format's version."""
    digest = sha256()
    for table in tables:
        for name in sorted(table):
            column = np.asarray(table[name])
            data = "\0".join(column).encode() if column.dtype.kind in "OU" else column.tobytes()
            digest.update(f"{name}:{len(column)}:{len(data)}:".encode() + data)
    return digest.hexdigest()
