"""Runs and their data files as pandas frames.

A results folder may come from anywhere: links are not followed, a file is held against the digest
in its run's record before anything in it is read, and one that would not fit in memory is refused.
"""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import pandas as pd
import pyarrow as pa

from uqbench.boards.of_runs import seed_of
from uqbench.boards.tables import IMPROVEMENT, POINTS, STATISTICS
from uqbench.contract.errors import warn
from uqbench.results.records import RunState, StoredRun
from uqbench.results.store import Store
from uqbench.results.tables import read_table

CELL = ("suite", "budget", "task", "method", "seed")
"""Columns that say which run a row is of."""
TIMES = ("seconds", "cpu_seconds", "steps_per_s")
RUN_COLUMNS = (
    *CELL, "state", "step", "steps", "device", *TIMES, "lanes", "began", "updated", "reason", "run",
    "results_digest",
)  # fmt: skip


Found = tuple[Store, PurePosixPath, StoredRun]
"""A stored run: its store, and its folder below the store's root."""


def stored_runs(store: Store) -> list[Found]:
    """The runs of a store, in the order of their folders.

    A folder whose runs cannot be listed is named in a warning.
    """
    runs = []
    for place, stored in store.walk():
        folder = PurePosixPath(place)
        if len(folder.parts) < len(CELL):
            warn(f"{store.root / folder}: {stored.reason}")
        else:
            runs.append((store, folder, stored))
    return runs


def runs_frame(runs: Sequence[Found]) -> pd.DataFrame:
    """One row per run."""
    rows = [_row(folder, stored) for _, folder, stored in runs]
    frame = pd.DataFrame(rows, columns=list(RUN_COLUMNS))
    integers = ("seed", "step", "steps", "lanes")
    kinds = dict.fromkeys(integers, "Int64") | dict.fromkeys(TIMES, "float64")
    frame = frame.astype(kinds)
    for name in ("began", "updated"):
        frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame


def _cell(folder: PurePosixPath) -> dict[str, str | int]:
    """Suite, budget, task, method and seed of a run."""
    return dict(zip(CELL, (*folder.parts[:4], seed_of(folder)), strict=True))


def _row(folder: PurePosixPath, stored: StoredRun) -> dict[str, Any]:
    """A run as a row of :data:`RUN_COLUMNS`."""
    row = {"state": stored.state.value, "reason": stored.reason, "run": str(folder)}
    if stored.record is None:
        return _cell(folder) | row
    record, timing = stored.record, stored.record.timing
    about = {name: getattr(timing, name, None) for name in (*TIMES, "lanes")}
    about |= {name: getattr(record, name) for name in ("step", "began", "updated")}
    about["steps"] = record.identity["budget"]["steps"]
    about["device"] = str(record.identity.get("device", ""))
    about["results_digest"] = record.digests.get("results")
    return _cell(folder) | row | about


def data_frame(runs: Sequence[Found], name: str, filters: Any = None) -> pd.DataFrame:
    """A data file of the finished runs among these, one below the other.

    Args:
        runs: whose files are read, where they have one of that name.
        name: of the file.
        filters: of ``pyarrow.parquet``, such as ``[("metric", "==", "reward")]``.

    Raises:
        UqbenchError: a file is damaged; names it.
    """
    tables = list(_tables(runs, name, filters))
    if not tables:
        return pd.DataFrame(columns=list(CELL))
    frame: pd.DataFrame = pa.concat_tables(tables, promote_options="default").to_pandas()
    return frame.reset_index(drop=True)


def _tables(runs: Sequence[Found], name: str, filters: Any) -> Iterator[pa.Table]:
    for store, folder, stored in runs:
        digests = {} if stored.record is None else stored.record.digests
        if stored.state is not RunState.FINISHED or name not in digests:
            continue
        table = read_table(store.at(folder), name, digests[name], filters)
        own = {
            column: pa.array([value] * len(table), pa.int64() if column == "seed" else None)
            for column, value in _cell(folder).items()
            if column not in table.column_names
        }
        if len(table):
            yield pa.table(own | {n: table[n] for n in table.column_names})


SCORE = ("rank", *STATISTICS, "fail_share")
"""What a board estimates of its score; its other estimates are of other metrics, or of pairs."""
ENDS = ("_low", "_high")


def _estimated(table: pd.DataFrame) -> list[str]:
    """The columns that have an interval in two others."""
    return [str(name) for name in table if f"{name}_low" in table]


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """``leaderboard.csv`` without other metrics than its score; intervals of the mean alone."""
    others = [f"{n}{end}" for n in _estimated(table) if n not in SCORE for end in ("", *ENDS)]
    points = [f"{name}{end}" for name in POINTS for end in ENDS]
    return table.drop(columns=[*others, *points], errors="ignore")


def estimates(table: pd.DataFrame) -> pd.DataFrame:
    """The estimates of a table, long, without the empty ones and points that have no interval.

    Columns ``suite``, ``board``, ``task`` where there is one, ``method``, ``metric``, ``value``,
    ``low``, ``high`` and ``baseline``, which is empty of what is compared with none.
    """
    own = [name for name in ("suite", "board", "task", "method") if name in table]
    parts = []
    for name in _estimated(table):
        part = table[own].copy()
        over = name.startswith(IMPROVEMENT)
        part["metric"] = "improvement" if over else name
        for column, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            part[column] = table[f"{name}{end}"]
        part["baseline"] = name.removeprefix(IMPROVEMENT) if over else ""
        parts.append(part[part["low" if name in POINTS else "value"].notna()])
    columns = [*own, "metric", "value", "low", "high", "baseline"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
