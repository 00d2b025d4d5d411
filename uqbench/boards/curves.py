"""A board's curves, to be drawn without its runs: each method's mean over its runs.

``curves.parquet`` has fifty points of a learning curve. ``uncertainty.parquet`` says how good the
methods' uncertainty is, so that reliability and PIT can be drawn, and of what agents
stated about Q the coverage over training, and errors by stated standard deviation; a run keeps such
curves of its own (``docs/uncertainty.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from uqbench.boards.scores import finished_runs
from uqbench.contract.identity import Run
from uqbench.results.scores import Scores
from uqbench.results.store import Store
from uqbench.results.tables import CURVES, PREDICTIONS, Columns, table_bytes
from uqbench.runner.metric_values import record_step
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.quantiles import t_quantile
from uqbench.suites.metrics import RECORDS
from uqbench.suites.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

MOST_RUNS = 7_000
FEWER_RUNS = 2_000
"""Runs whose curves are kept, where there are more than the most, and files read for them."""
STORED = ("reliability", "sparsification", "sparsification_best", "pit", "stated", "error")
"""The curves whose points are at the same places in all runs."""
TRAINING, LEVEL = "training", 0.9
"""The curve of coverage by step, and the level of its intervals."""
PARTS = 50
"""Points of a learning curve."""
RETURN, REWARD = "return", "reward_per_step"


def curve_files(plan: Plan, scores: Scores, store: Store) -> dict[str, bytes]:
    """The mean curves of a board's runs, by file; without those that no run has."""
    import pandas as pd
    import pyarrow as pa

    runs, files = [run for _, run in finished_runs(drawn(plan), scores)], {}
    for name, of_runs, mean, kind in (
        ("curves.parquet", _learning, learning_curves, "metric"),
        ("uncertainty.parquet", _uncertainty, mean_curves, "curve"),
    ):
        if parts := [*of_runs(plan, runs, store)]:
            means = mean(pd.concat(parts, ignore_index=True))
            names = means.astype(dict.fromkeys(("task", "method", kind), "category"))
            files[name] = table_bytes(pa.Table.from_pandas(names, preserve_index=False))
    return files


def _learning(plan: Plan, runs: Iterable[Run], store: Store) -> Iterator[pd.DataFrame]:
    """The points of the learning curve of each run in an environment."""
    for run in runs:
        task = plan.suite.task(run.task)
        if task.environment is not None:
            own = _points(*store.columns(run), plan.budget.on(task).steps)
            yield own.assign(task=run.task, method=run.method)


def learning_curves(points: pd.DataFrame) -> pd.DataFrame:
    """``task``, ``method``, ``step``, ``value``, ``low``, ``high``, ``runs``, ``metric``.

    ``metric`` is the ``return`` of the training episodes that ended in each fiftieth of a run;
    where none ever does, since tasks are continuing, the ``reward_per_step``. ``value`` is the
    mean over the runs that have one, with Student's pointwise 95 % interval; none of fewer than
    three.

    Args:
        points: of runs: ``task``, ``method``, ``step``, ``return``, ``reward_per_step``.
    """
    metric = REWARD if points[RETURN].isna().all() else RETURN
    means = _banded(points, ["task", "method", "step"], metric).rename(columns={"y": "value"})
    return means.assign(metric=metric).astype(dict.fromkeys(("value", "low", "high"), np.float32))


def mean_curves(curves: pd.DataFrame) -> pd.DataFrame:
    """``task``, ``method``, ``curve``, ``x``, ``y``, ``low``, ``high``, ``runs``.

    Means over a method's runs at the last occasion on which it was asked, with Student's pointwise
    95 % intervals; none of fewer than three runs. ``training`` has the coverage of 90 % intervals
    on every occasion, ``x`` being the step.

    Args:
        curves: of runs: ``task``, ``method``, ``seed``, ``step``, ``curve``, ``x``, ``y``.
    """
    import pandas as pd

    last = curves["step"] == curves.groupby(["task", "method"])["step"].transform("max")
    own = curves[last & curves["curve"].isin(STORED)]
    asked = curves[(curves["curve"] == "reliability") & (curves["x"].sub(LEVEL).abs() < 1e-6)]
    own = pd.concat([own, asked.assign(curve=TRAINING, x=asked["step"])])
    own = own.assign(x=own["x"].astype(float).round(9))
    return _banded(own, ["task", "method", "curve", "x"], "y")


def _banded(points: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """The columns ``by``, and ``y``, ``low``, ``high``, ``runs`` of a value of single runs."""
    means = points.groupby(by)[value].agg(y="mean", sd="std", runs="count").reset_index()
    runs = means["runs"].to_numpy()
    known = {n: t_quantile(1 - ALPHA / 2, n - 1) for n in {*runs.tolist()} if n >= MINIMUM_SEEDS}
    t = np.array([known.get(n, np.nan) for n in runs.tolist()])
    reach = t * (means.pop("sd").to_numpy() / np.sqrt(runs))
    means = means.assign(low=means["y"] - reach, high=means["y"] + reach)
    return means[[*by, "y", "low", "high", "runs"]]


def _uncertainty(_: Plan, runs: Iterable[Run], store: Store) -> Iterator[pd.DataFrame]:
    """The curves of how good the uncertainty of each run is, where it was asked for."""
    import pandas as pd

    for run in runs:
        columns = store.table(run, CURVES)
        if columns is not None:
            predicted = store.table(run, PREDICTIONS) or {}
            own = pd.concat([pd.DataFrame(dict(columns)), *_errors(predicted)])
            yield own.assign(task=run.task, method=run.method, seed=run.seed)


def _errors(predicted: Columns) -> Iterator[pd.DataFrame]:
    """The curves ``stated`` and ``error``, where an agent was asked about Q and the truth is known.

    Root mean squares over each tenth of the pairs of state and action at the end of training, in
    the order of their stated standard deviations: of these, and of the errors of the means without
    what the truth's own standard error adds.
    """
    import pandas as pd

    names = ["step", "mean", "std", "truth", "truth_se"]
    if not {*names} <= {*predicted}:
        return
    known = pd.DataFrame({name: predicted[name] for name in names}).dropna()
    known = known[known["step"] == known["step"].max()]
    tenth = np.ceil(10 * known["std"].rank(method="first", pct=True)) / 10
    error = (known["mean"] - known["truth"]) ** 2 - known["truth_se"] ** 2
    for curve, squares in {"stated": known["std"] ** 2, "error": error}.items():
        y = squares.groupby(tenth).mean().clip(0) ** 0.5
        yield pd.DataFrame({"curve": curve, "x": y.index, "y": y.array}).assign(
            step=known["step"].max()
        )


def drawn(plan: Plan) -> Iterator[Run]:
    """The runs whose curves are kept: of very many the first seeds of each method and task."""
    seeds = max(10, FEWER_RUNS // len(plan.cells)) if len(plan.runs) > MOST_RUNS else None
    for cell in plan.cells:
        yield from cell.runs[:seeds]


def _points(records: Columns, episodes: Columns, steps: int) -> pd.DataFrame:
    """``step``, mean ``return`` and ``reward_per_step`` of each fiftieth of a run."""
    import pandas as pd

    ends = np.array([record_step(k, steps) for k in range(0, RECORDS + 1, RECORDS // PARTS)])
    ended = (episodes["phase"] == "training") & (episodes["end"] != "unfinished")
    # the fiftieth in which an episode ends: ends[k] < step <= ends[k + 1]
    place = np.searchsorted(ends, episodes["step"][ended], side="left") - 1
    count = np.bincount(place, minlength=PARTS)
    total = np.bincount(place, weights=episodes["return"][ended], minlength=PARTS)
    returns = np.full(PARTS, np.nan)
    np.divide(total, count, out=returns, where=count > 0)
    rewards = records["metric"] == "reward"
    at = dict(zip(records["step"][rewards], records["value"][rewards], strict=True))
    at.setdefault(0, 0.0)  # in runs of less than fifty steps the first parts are empty
    reward = np.diff([0.0, *(float(at[end]) for end in ends[1:])]) / np.maximum(np.diff(ends), 1)
    return pd.DataFrame({"step": ends[1:], RETURN: returns, REWARD: reward})
