"""A run's data files: parquet tables, written whole, and read back as columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from uqbench.errors import StorageError, UqbenchError
from uqbench.results.columns import Columns, RunColumns, columns_digest
from uqbench.results.files import NOT_A_FILE, file_digest, open_file, write_data, write_whole
from uqbench.results.record_files import RECORD

METRICS = "metrics.parquet"
EPISODES = "episodes.parquet"
CURVES = "uncertainty.parquet"

AGENT = "agent.pt"
"""An agent's final state, of runs with ``--keep-agents``."""

FILES = (METRICS, EPISODES, CURVES, AGENT)
"""All that a run may have beside its record; tables in the order of the digest of their numbers."""
RESULTS = "results"
"""Among a record's digests: that of the numbers in its tables."""

MOST_BYTES = 4 << 30
"""Of one of these files."""


def names(digests: Mapping[str, str]) -> list[str]:
    """The files that a finished run's record lists by digest: these are verified, and copied.

    Raises:
        UqbenchError: it lacks one that every run has, or lists one that none has.
    """
    listed = [name for name in FILES if name in digests]
    if lacking := {METRICS, EPISODES} - digests.keys():
        raise UqbenchError(f"{RECORD} lists no digest of {', '.join(sorted(lacking))}")
    if strange := digests.keys() - {*listed, RESULTS}:
        known = ", ".join((*FILES, RESULTS))
        raise UqbenchError(
            f"{RECORD} lists digests of {', '.join(map(repr, sorted(strange)))}; expected {known}"
        )
    return listed


def write_tables(folder: Path, columns: RunColumns) -> dict[str, str]:
    """Write a run's data files, and return their digests and that of their numbers.

    Raises:
        StorageError: they cannot be written, or not be read back.
        UqbenchError: one is larger than is read.
    """
    tables = {METRICS: columns.metrics, EPISODES: columns.episodes}
    if columns.curves is not None:
        tables[CURVES] = columns.curves
    for name, table in tables.items():
        write_whole(folder / name, partial(pq.write_table, pa.table(dict(table))))
    if columns.agent is not None:
        write_data(folder / AGENT, columns.agent)
    try:
        exported = [] if columns.agent is None else [AGENT]
        digests = {name: file_digest(folder / name, MOST_BYTES) for name in (*tables, *exported)}
    except OSError as error:
        raise StorageError(f"{folder} cannot be read back: {error.strerror}") from error
    except ValueError as error:
        raise UqbenchError(f"the files of a run in {folder} cannot be stored: {error}") from error
    digests[RESULTS] = columns_digest(*tables.values())
    return digests


def read_tables(folder: Path, digests: Mapping[str, str]) -> tuple[Columns, Columns]:
    """A run's metrics and episodes.

    Raises:
        UqbenchError: they are damaged: not tables, or not those that the digests are of.
        StorageError: they cannot be read, and may be intact.
    """
    files = [name for name in names(digests) if name != AGENT]
    tables = [_columns(folder / name) for name in files]
    if RESULTS not in digests or digests[RESULTS] != _digest(*tables):
        raise UqbenchError(
            f"{folder}: {', '.join(files)} are damaged, because their numbers do not match the "
            f"digest in {RECORD}"
        )
    metrics, episodes, *_ = tables
    return metrics, episodes


def read_curves(folder: Path, digests: Mapping[str, str]) -> Columns | None:
    """A run's curves of uncertainty; None where it has none.

    Raises:
        UqbenchError: they are damaged.
        StorageError: they cannot be read, and may be intact.
    """
    if CURVES not in digests:
        return None
    columns = _columns(folder / CURVES)
    if file_digest(folder / CURVES) != digests[CURVES]:
        raise UqbenchError(f"{folder / CURVES} does not match its digest in {RECORD}")
    return columns


def _columns(path: Path) -> Columns:
    try:
        with open_file(path) as file:
            table = pq.ParquetFile(file).read(use_threads=False)  # a third of read_table's time
        return {
            name: column.to_numpy(zero_copy_only=False)
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    except (pa.ArrowException, UnicodeDecodeError) as error:  # names of columns are text, too
        raise UqbenchError(f"{path} is damaged, because it is not a table: {error}") from error
    except OSError as error:  # Arrow reports damaged files this way too
        if error.errno is None or error.errno in NOT_A_FILE:
            raise UqbenchError(f"{path} is damaged, because {error.strerror or error}") from error
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error


def _digest(*tables: Columns) -> str | None:
    """The digest of a run's numbers; None if the columns hold something else."""
    try:
        return columns_digest(*tables)
    except (TypeError, ValueError):
        return None
