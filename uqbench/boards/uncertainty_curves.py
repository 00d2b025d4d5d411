"""``uncertainty.parquet`` of a board: how good its methods' uncertainty is, as curves.

A run keeps such curves of its own (``docs/uncertainty.md``); a board keeps each method's mean over
its runs, so that reliability, sparsification and PIT can be drawn without the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from uqbench.boards.curves import drawn
from uqbench.boards.scores import Score, finished_runs
from uqbench.results.store import Store
from uqbench.results.tables import CURVES, read_columns, table_bytes
from uqbench.statistics.quantiles import student
from uqbench.suites.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

KEPT = ("reliability", "sparsification", "sparsification_best", "pit")
"""The curves whose points are at the same places in all runs."""


def mean_curves(curves: pd.DataFrame) -> pd.DataFrame:
    """``task``, ``method``, ``curve``, ``x``, ``y``, ``low``, ``high``, ``runs``.

    Means over a method's runs at the last occasion on which it was asked, with Student's pointwise
    95 % intervals; none of fewer than three runs.

    Args:
        curves: of runs: ``task``, ``method``, ``seed``, ``step``, ``curve``, ``x``, ``y``.
    """
    last = curves["step"] == curves.groupby(["task", "method"])["step"].transform("max")
    own = curves[last & curves["curve"].isin(KEPT)]
    own = own.assign(x=own["x"].astype(float).round(9))
    points = own.groupby(["task", "method", "curve", "x"])["y"]
    found = points.agg(y="mean", spread="std", runs="count").reset_index()
    runs = found["runs"].to_numpy()
    reach = student(found["spread"].to_numpy() / np.sqrt(runs), runs)
    found = found.assign(low=found["y"] - reach, high=found["y"] + reach)
    return found[["task", "method", "curve", "x", "y", "low", "high", "runs"]]


def uncertainty_parquet(plan: Plan, scores: Sequence[Score], store: Store) -> bytes | None:
    """The mean curves of a board's runs; None where no run in the store has any."""
    import pandas as pd
    import pyarrow as pa

    parts = []
    for score, run in finished_runs(drawn(plan), scores):
        assert score.record is not None
        columns = read_columns(store.at(run.place), CURVES, score.record.digests)
        if columns is not None:
            parts.append(
                pd.DataFrame(dict(columns)).assign(task=run.task, method=run.method, seed=run.seed)
            )
    if not parts:
        return None
    found = mean_curves(pd.concat(parts, ignore_index=True))
    names = found.astype(dict.fromkeys(("task", "method", "curve"), "category"))
    return table_bytes(pa.Table.from_pandas(names, preserve_index=False))
