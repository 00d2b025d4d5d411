"""The curves that stored boards keep, as frames."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from uqbench.boards.run_boards import StoredTables, Tables
from uqbench.errors import UqbenchError
from uqbench.results.files import read_bytes
from uqbench.results.records import MOST_BYTES

MOST_ROWS = 10_000_000
"""Of a board's curves: a hundred points a run."""
COLUMNS = ("suite", "board", "task", "method", "seed", "step", "metric", "value")


MEAN_COLUMNS = ("task", "method", "curve", "x", "y", "low", "high", "runs")


def stored_curves(boards: Sequence[Tables]) -> pd.DataFrame:
    """The curves of those boards that keep them: :data:`COLUMNS`.

    Raises:
        UqbenchError: a file is damaged.
    """
    parts = [
        _long(tables)
        for tables in boards
        if isinstance(tables, StoredTables) and (tables.folder / "curves.parquet").exists()
    ]
    if not parts:
        return pd.DataFrame(columns=list(COLUMNS))
    return pd.concat(parts, ignore_index=True)


def stored_uncertainty(tables: StoredTables) -> pd.DataFrame | None:
    """A board's mean curves of uncertainty: :data:`MEAN_COLUMNS`; None where it keeps none.

    Raises:
        UqbenchError: the file is damaged.
    """
    path = tables.folder / "uncertainty.parquet"
    if not path.exists():
        return None
    found = _read(path)
    names = dict.fromkeys(("task", "method", "curve"), object)
    try:
        return found[list(MEAN_COLUMNS)].astype(names | dict.fromkeys(MEAN_COLUMNS[3:], float))
    except (KeyError, ValueError, TypeError) as error:
        raise UqbenchError(f"{path} is damaged, because {error}") from None


def _long(tables: StoredTables) -> pd.DataFrame:
    path = tables.folder / "curves.parquet"
    wide = _read(path)
    names = ["task", "method", "seed", "step"]
    try:
        long = wide.melt(
            id_vars=names,
            value_vars=["return", "reward_per_step"],
            var_name="metric",
            value_name="value",
        ).astype({"task": object, "method": object, "metric": object, "value": float})
    except KeyError as error:
        raise UqbenchError(f"{path} is damaged, because {error}") from None
    long.insert(0, "suite", tables.suite)
    long.insert(1, "board", tables.board)
    return long


def _read(path: Path) -> pd.DataFrame:
    try:
        data = read_bytes(path, MOST_BYTES)
        if (rows := pq.ParquetFile(io.BytesIO(data)).metadata.num_rows) > MOST_ROWS:
            raise ValueError(f"it has {rows:,} rows")
        return pq.read_table(io.BytesIO(data)).to_pandas()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UqbenchError(f"{path} is damaged, because {error}") from error
