"""A run's data files: parquet tables, written whole, and read back as columns.

PyArrow has 170 MB and is imported where a table is: an installation that compares does without.
"""

import io
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.results.folders import NOT_A_FILE, Folder
from uqbench.results.record_files import RECORD

Columns = Mapping[str, NDArray[Any]]
"""Columns of equal length by name."""


class RunColumns(NamedTuple):
    """All that a run leaves behind.

    Attributes:
        metrics: records of its metrics.
        episodes: its episodes.
        curves: of how good its uncertainty is, for pictures; None where nobody asked.
        predictions: of an estimator, a row a point; columns of several numbers are ``[N, C]``.
    """

    metrics: Columns
    episodes: Columns
    curves: Columns | None = None
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


METRICS = "metrics.parquet"
EPISODES = "episodes.parquet"
CURVES = "uncertainty.parquet"

AGENT = "agent.pt"
"""An agent's final state."""
TRAINING = "training.pt"
"""What was recorded while it was trained. Both are removed once the run is judged, but for
``--keep-agents``."""

PREDICTIONS = "predictions.parquet"
"""What an estimator predicted: scores are functions of it, and no part of the results' digest."""

TABLES = (METRICS, EPISODES, CURVES, PREDICTIONS)
"""The tables of a run, in the order of the digest of their numbers."""
FILES = (METRICS, EPISODES, CURVES, AGENT, TRAINING, PREDICTIONS)
"""All that a run may have beside its record."""
RESULTS = "results"
"""Among a record's digests: that of the numbers in its tables."""

MOST_BYTES = 4 << 30
"""The most bytes of one of these files, and of a table when it is decompressed."""
MOST_ROWS = 50_000_000
"""The most rows of a table."""


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


def write_tables(folder: Folder, columns: RunColumns) -> dict[str, str]:
    """Write a run's data files, and return their digests and that of their numbers.

    Raises:
        StorageError: they cannot be written, or not be read back.
        UqbenchError: one is larger than is read.
    """
    parts = {name: part for name, part in zip(TABLES, columns, strict=True) if part is not None}
    for name, part in parts.items():
        folder.write(name, _writer(part))
    try:
        digests = {name: folder.digest(name, MOST_BYTES) for name in parts}
    except OSError as error:
        raise StorageError(f"{folder} cannot be read back: {error.strerror}") from error
    except ValueError as error:
        raise UqbenchError(f"the files of a run in {folder} cannot be stored: {error}") from error
    tables = (columns.metrics, columns.episodes, columns.curves)
    digests[RESULTS] = columns_digest(*(table for table in tables if table is not None))
    return digests


def read_tables(folder: Folder, digests: Mapping[str, str]) -> tuple[Columns, Columns]:
    """A run's metrics and episodes.

    Raises:
        UqbenchError: they are damaged: not tables, or not those that the digests are of.
        StorageError: they cannot be read, and may be intact.
    """
    files = [name for name in names(digests) if name in (METRICS, EPISODES, CURVES)]
    tables = [_columns(folder, name) for name in files]
    if RESULTS not in digests or digests[RESULTS] != _digest(*tables):
        raise UqbenchError(
            f"{folder}: {', '.join(files)} are damaged, because their numbers do not match the "
            f"digest in {RECORD}"
        )
    metrics, episodes, *_ = tables
    return metrics, episodes


def read_columns(folder: Folder, name: str, digests: Mapping[str, str]) -> Columns | None:
    """One of a run's tables, such as :data:`CURVES` or :data:`PREDICTIONS`; None without it.

    Raises:
        UqbenchError: it is damaged.
        StorageError: it cannot be read, and may be intact.
    """
    return _columns(folder, name, digests[name]) if name in digests else None


def _writer(columns: Columns) -> Callable[[BinaryIO], object]:
    """A function that writes a table; an array ``[N, C]`` is a column of lists of C numbers."""
    from pyarrow import FixedSizeListArray, array, parquet, table

    arrays = {name: array(one.ravel()) for name, one in columns.items()}
    for name in (name for name, one in columns.items() if one.ndim > 1):
        arrays[name] = FixedSizeListArray.from_arrays(arrays[name], columns[name].shape[1])
    return partial(parquet.write_table, table(arrays))


def read_table(folder: Folder, name: str, digest: str | None = None, filters: Any = None) -> Any:
    """A table of PyArrow, from anywhere.

    Args:
        folder: that it is in.
        name: of the file.
        digest: its sha256, which it is held against before anything in it is read.
        filters: of ``pyarrow.parquet``, such as ``[("metric", "==", "reward")]``.

    Raises:
        UqbenchError: it is damaged, or would not fit in memory.
        StorageError: it cannot be read, and may be intact.
    """
    return parse_table(read_checked(folder, name, digest), str(folder / name), filters=filters)


def read_checked(folder: Folder, name: str, digest: str | None) -> bytes:
    """A run's file, held against its digest; raises what :func:`read_table` does."""
    path = folder / name
    try:
        data = folder.read(name, MOST_BYTES)
    except ValueError as error:
        raise UqbenchError(f"{path} is damaged, because {error}") from error
    except OSError as error:
        if error.errno in NOT_A_FILE:
            raise UqbenchError(f"{path} is damaged, because {error.strerror}") from error
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    if digest is not None and sha256(data).hexdigest() != digest:
        raise UqbenchError(f"{path} does not match its digest in {RECORD}")
    return data


def parse_table(data: bytes, where: str, filters: Any = None) -> Any:
    """A table of PyArrow, from the bytes of its file.

    Args:
        data: the file.
        where: what errors call it.
        filters: see :func:`read_table`.

    Raises:
        UqbenchError: it is damaged, or would not fit in memory.
    """
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        about = file.metadata
        size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        if size > MOST_BYTES or about.num_rows > MOST_ROWS:
            raise UqbenchError(
                f"{where} is refused: {about.num_rows:,} rows of {size:,} bytes; at most "
                f"{MOST_ROWS:,} rows of {MOST_BYTES:,} bytes are read."
            )
        if filters is not None:
            return parquet.read_table(io.BytesIO(data), filters=filters)
        return file.read(use_threads=False)  # a third of read_table's time
    except (ArrowException, OSError, ValueError) as error:  # names of columns are text, too
        raise UqbenchError(f"{where} is damaged, because it is not a table: {error}") from error


def table_bytes(table: Any) -> bytes:
    """The file of a table, compressed; the same table, the same bytes."""
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(table, file, compression="zstd")
    return file.getvalue()


def _columns(folder: Folder, name: str, digest: str | None = None) -> Columns:
    import pyarrow as pa

    table, columns = read_table(folder, name, digest), {}
    try:
        for column, values in zip(table.column_names, table.columns, strict=True):
            shape = [len(values)]
            if pa.types.is_fixed_size_list(values.type):
                shape.append(values.type.list_size)
                values = values.combine_chunks().flatten()
            columns[column] = values.to_numpy(zero_copy_only=False).reshape(shape)
    except (pa.ArrowException, ValueError) as error:  # no text, or lists with gaps
        raise UqbenchError(f"{folder / name} is damaged, as it is not a table: {error}") from error
    return columns


def _digest(*tables: Columns) -> str | None:
    """The digest of a run's numbers; None if the columns hold something else."""
    try:
        return columns_digest(*tables)
    except (TypeError, ValueError):
        return None
