"""A table of a file as a data set."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pandas as pd

from uqbench.contract.errors import UqbenchError, unknown
from uqbench_predictive.problems.columns import Kind
from uqbench_predictive.problems.table_dataset import TableDataset

READ = {".csv": pd.read_csv, ".tsv": lambda file: pd.read_csv(file, sep="\t"),
        ".parquet": pd.read_parquet}  # fmt: skip
"""How a file is read, by its ending."""


@dataclass(frozen=True, kw_only=True)
class TableFileConfig:
    """Which file, and what its columns are.

    Attributes:
        file: its path (``.csv``, ``.tsv`` or ``.parquet``).
        sha256: the first sixteen digits of its digest: another file under the path is refused.
        target: the column to predict.
        kind: of the target, ``classification`` or ``regression``.
        groups: a column whose rows with the same value belong together; empty for none.
    """

    file: str
    sha256: str
    target: str
    kind: Kind
    groups: str = ""


class TableFile(TableDataset):
    """A table of a file: all columns but the target and the groups are inputs."""

    def __init__(self, config: TableFileConfig) -> None:
        self.config, path = config, Path(config.file)
        frame = frame_of(path)
        if digest(path) != config.sha256:
            raise UqbenchError(
                f"{path} is not the table that these runs are of: its sha256 begins with "
                f"{digest(path)}, expected {config.sha256}; name the file once more with --table."
            )
        x, y, groups = columns_of(frame, config.target, config.groups, str(path))
        super().__init__(x, y, groups, name=path.stem, kind=config.kind)


def kind_of(config: TableFileConfig) -> Kind:
    """What is predicted."""
    return config.kind


def digest(path: Path) -> str:
    """The first sixteen digits of a file's sha256."""
    return sha256(path.read_bytes()).hexdigest()[:16]


def frame_of(path: Path) -> pd.DataFrame:
    """The table of a file.

    Raises:
        UqbenchError: its ending is another one, or it cannot be read.
    """
    read = READ.get(path.suffix.lower())
    if read is None:
        raise UqbenchError(f"{path}: expected a table as {', '.join(READ)}.")
    try:
        return read(path)
    except (OSError, ValueError, ImportError) as error:  # pandas' errors of parsing are ValueErrors
        raise UqbenchError(f"{path} cannot be read as {path.suffix}: {error}") from None


def columns_of(
    frame: pd.DataFrame, target: str, groups: str, where: str
) -> tuple[pd.DataFrame, pd.Series, pd.Series | None]:
    """Inputs, target and groups.

    Raises:
        UqbenchError: there is no column of a name, or two roles are one column.
    """
    for name in filter(None, (target, groups)):
        if name not in frame:
            raise unknown("column", name, [str(column) for column in frame], f"{where} has")
    if target == groups:
        raise UqbenchError(
            f"{where}: {target!r} is the target and the groups; expected two columns."
        )
    own = frame[groups] if groups else None
    return frame.drop(columns=[target, *filter(None, [groups])]), frame[target], own
