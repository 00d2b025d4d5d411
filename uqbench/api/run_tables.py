"""Runs and their data files as pandas frames.

A results folder may come from anywhere: links are not followed, a file is held against the digest
in its run's record before anything in it is read, and one that would not fit in memory is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pandas as pd
import pyarrow as pa

from uqbench.boards.of_runs import seed_of
from uqbench.errors import warn
from uqbench.results.records import RunRecord
from uqbench.results.store import RunState, Store
from uqbench.results.tables import read_table

CELL = ("suite", "budget", "task", "method", "seed")
"""Columns that say which run a row is of."""
RUN_COLUMNS = (
    *CELL, "state", "step", "steps", "device", "seconds", "steps_per_s", "lanes", "began",
    "updated", "reason", "run", "results_digest",
)  # fmt: skip


@dataclass(frozen=True)
class FoundRun:
    """A stored run, as its ``run.json`` tells of it."""

    folder: PurePosixPath
    state: RunState
    reason: str | None
    record: RunRecord | None

    @classmethod
    def read(cls, store: Store, folder: str) -> FoundRun:
        """A run by its folder below the store's root."""
        found = store.read(folder)
        return cls(PurePosixPath(folder), found.state, found.reason, found.record)

    @property
    def cell(self) -> tuple[str, str, str, str, int]:
        """Suite, budget, task, method and seed."""
        suite, budget, task, method, _ = self.folder.parts
        return suite, budget, task, method, seed_of(self.folder)

    @property
    def row(self) -> dict[str, Any]:
        """The run as a row of :data:`RUN_COLUMNS`."""
        row: dict[str, Any] = dict.fromkeys(RUN_COLUMNS)
        row |= dict(zip(CELL, self.cell, strict=True))
        row |= {"state": self.state.value, "reason": self.reason, "run": str(self.folder)}
        if self.record is not None:
            timing = self.record.timing
            row |= {
                "step": self.record.step,
                "steps": self.record.identity["budget"]["steps"],
                "device": str(self.record.identity.get("device", "")),
                "began": self.record.began,
                "updated": self.record.updated,
                "results_digest": self.record.digests.get("results"),
            }
            if timing is not None:
                row |= {
                    "seconds": timing.seconds,
                    "steps_per_s": timing.steps_per_s,
                    "lanes": timing.lanes,
                }
        return row


def stored_runs(store: Store, suites: Iterable[str | None] = (None,)) -> list[FoundRun]:
    """The runs of some suites, of all by default (None), in the order of their folders.

    A folder whose runs cannot be listed is named in a warning.
    """
    runs = []
    for suite in suites:
        for folder, found in store.records(suite):
            if len(folder.parts) < len(CELL):
                warn(f"{store.root / folder}: {found.reason}")
            else:
                runs.append(FoundRun(folder, found.state, found.reason, found.record))
    return runs


def runs_frame(runs: Sequence[FoundRun]) -> pd.DataFrame:
    """A row a run."""
    frame = pd.DataFrame([run.row for run in runs], columns=list(RUN_COLUMNS))
    integers = ("seed", "step", "steps", "lanes")
    kinds = dict.fromkeys(integers, "Int64") | dict.fromkeys(("seconds", "steps_per_s"), "float64")
    frame = frame.astype(kinds)
    for name in ("began", "updated"):
        frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame


def data_frame(
    store: Store, runs: Sequence[FoundRun], name: str, filters: Any = None
) -> pd.DataFrame:
    """A data file of the finished runs among these, one below the other.

    Args:
        store: of the runs.
        runs: whose files are read, where they have one of that name.
        name: of the file.
        filters: of ``pyarrow.parquet``, such as ``[("metric", "==", "reward")]``.

    Raises:
        UqbenchError: a file is damaged; names it.
    """
    tables = list(_tables(store, runs, name, filters))
    if not tables:
        return pd.DataFrame(columns=list(CELL))
    frame: pd.DataFrame = pa.concat_tables(tables, promote_options="default").to_pandas()
    return frame.reset_index(drop=True)


def _tables(store: Store, runs: Sequence[FoundRun], name: str, filters: Any) -> Iterator[pa.Table]:
    for run in runs:
        if run.state is not RunState.FINISHED or run.record is None:
            continue
        if name not in run.record.digests:
            continue
        table = read_table(store.at(run.folder), name, run.record.digests[name], filters)
        own = {
            column: pa.array([value] * len(table), pa.int64() if column == "seed" else None)
            for column, value in zip(CELL, run.cell, strict=True)
            if column not in table.column_names
        }
        if len(table):
            yield pa.table(own | {n: table[n] for n in table.column_names})
