"""Scores by threshold and by step: performance profiles, sample efficiency, and its rank sets.

A step counts where every run of a method has a value: observed, or between two steps of the run
that are no gap. Before a run's first step, after its last, and across a gap nothing is made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from uqbench.contract.claim import Paired
from uqbench.statistics.bounded import mean_of
from uqbench.statistics.estimate import Estimate, estimate
from uqbench.statistics.ranks import Matrix, compare, places

MOST_POINTS = 50
"""Steps, and thresholds, of a curve: of more, so many are taken, evenly."""
GAP, IRREGULAR = 1.5, 0.05
"""A gap is longer than so many of a run's usual distances; where most are others, as of episodes,
than twice the median and than this part of its steps."""
RANKED = ("value", "low", "high", "rank", "rank_low", "rank_high")
Curves = Mapping[str, NDArray[np.float64]]
"""By method ``[runs, tasks, steps]``, NaN where a run has no value."""
MOST_STEPS = 2_000
"""As many where a single step is looked for."""


class Grid(NamedTuple):
    """Steps ``[n]``, curves at them, and curves between each and the next, ``[…, n − 1]``."""

    steps: NDArray[np.float64]
    at: Curves
    between: Curves


def profile(
    matrices: Mapping[str, Matrix], thresholds: NDArray[np.float64], *, paired: Paired
) -> pd.DataFrame:
    """A row a method and threshold: the ``share`` of runs above it (Agarwal et al. 2021, eq. 4).

    ``low`` to ``high`` is its 95 % interval, of each threshold by itself; where methods are paired
    by seeds, one with all its tasks is one observation.
    """
    rows = []
    for method, scores in matrices.items():
        for tau in thresholds:
            above = (scores > tau).astype(float)
            shares = mean_of(above, [(0.0, 1.0)] * scores.shape[1], clustered=paired == "seeds")
            of = Estimate.of(shares, len(scores))
            rows.append((method, tau, of.value, of.low, of.high))
    columns = ["method", "threshold", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:], float))


def on_one_grid(values: pd.DataFrame, most: int = MOST_POINTS) -> Grid:
    """The union of all runs' steps, and each method's runs on it.

    Args:
        values: ``method``, ``task``, ``seed``, ``step``, ``score``; of each method as many runs of
            every task.
        most: steps; of more, so many are taken, evenly.
    """
    steps = np.unique(values["step"].to_numpy(float))
    steps = steps[np.unique(np.linspace(0, len(steps) - 1, most).round().astype(int))]
    middles = (steps[1:] + steps[:-1]) / 2
    at: dict[str, NDArray[np.float64]] = {}
    between: dict[str, NDArray[np.float64]] = {}
    for method, own in values.groupby("method", sort=False):
        for found, where in ((at, steps), (between, middles)):
            tasks = [
                np.array([_along(run, where) for _, run in of_task.groupby("seed")])
                for _, of_task in own.groupby("task")
            ]
            found[str(method)] = np.stack(tasks, 1)
    return Grid(steps, at, between)


def _along(run: pd.DataFrame, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """A run's scores at other steps, between neighbors that are no gap; NaN elsewhere."""
    ordered = run.sort_values("step")
    steps, scores = ordered["step"].to_numpy(float), ordered["score"].to_numpy(float)
    found: NDArray[np.float64] = np.interp(grid, steps, scores, left=np.nan, right=np.nan)
    if len(steps) > 1:
        after = np.clip(np.searchsorted(steps, grid), 1, len(steps) - 1)
        found[_gaps(steps)[after - 1] & ~np.isin(grid, steps)] = np.nan
    return found


def _gaps(steps: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each distance between neighbors is a gap; steps may be even in their logarithm."""
    for of in (steps, np.log(steps)) if steps[0] > 0 else (steps,):
        distances = np.diff(of)
        usual = float(np.median(distances))
        if np.isclose(distances, usual).mean() > 0.5:
            return np.asarray(distances > GAP * usual)
    distances = np.diff(steps)
    longest = max(2 * float(np.median(distances)), IRREGULAR * float(steps[-1]))
    return np.asarray(distances > longest)


def ranked(scores: Mapping[str, Matrix], by: str, *, paired: Paired) -> pd.DataFrame:
    """A row a method, by its scores ``[runs, tasks]``: :data:`RANKED`, the best first.

    The rank sets are those of a board: all pairs' intervals hold together with 95 %.
    """
    at, rows = places(scores, compare(scores, by, paired=paired), by), []
    for method, matrix in scores.items():
        of, place = estimate(by, matrix, clustered=paired == "seeds"), at.get(method)
        ranks = (1, 1, 1) if place is None else (place.rank, place.low, place.high)
        rows.append((method, of.value, of.low, of.high, *ranks))
    table = pd.DataFrame(rows, columns=["method", *RANKED])
    return table.astype(dict.fromkeys(RANKED[:3], float)).sort_values("rank", ignore_index=True)


def by_step(grid: Grid, by: str, *, paired: Paired) -> pd.DataFrame:
    """A row a step and method: :func:`ranked` of the methods all of whose runs have a value."""
    tables = []
    for k, step in enumerate(grid.steps):
        known = {name: of[..., k] for name, of in grid.at.items() if np.isfinite(of[..., k]).all()}
        if known:
            tables.append(ranked(known, by, paired=paired).assign(step=step))
    columns = ["method", "step", *RANKED]
    return (
        pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)
    )


def areas(grid: Grid, by: str, *, paired: Paired) -> pd.DataFrame:
    """A row a method: :func:`ranked` of the runs' mean height over steps that all methods have."""
    each = [np.isfinite(of).all((0, 1)) for of in grid.between.values()]
    width = np.diff(grid.steps) * np.logical_and.reduce(each)
    if not width.sum():
        return pd.DataFrame(columns=["method", *RANKED])
    means = {
        name: np.nan_to_num((of[..., 1:] + of[..., :-1]) / 2) @ width / width.sum()
        for name, of in grid.at.items()
    }
    return ranked(means, by, paired=paired)


def steps_to(grid: Grid, threshold: float, by: str, *, paired: Paired) -> pd.DataFrame:
    """A row a method: the first ``steps`` at which its curve is at a threshold; inf where never.

    ``low`` and ``high`` are those of the ends of its pointwise 95 % intervals; NaN where it has
    none.

    Args:
        grid: of steps.
        threshold: a score.
        by: the statistic of a curve.
        paired: by seeds, one with all its tasks is one observation.
    """
    rows = []
    for method, curves in grid.at.items():
        known = np.flatnonzero(np.isfinite(curves).all((0, 1)))
        of = [estimate(by, curves[..., k], clustered=paired == "seeds") for k in known]
        ends = [[one.value for one in of], [one.high for one in of], [one.low for one in of]]
        first = []
        for end in ends:
            stated = np.array(end, float)
            at = grid.steps[known[stated >= threshold]]
            unknown = np.nan if np.isnan(stated).all() else np.inf
            first.append(at.min() if len(at) else unknown)
        rows.append((method, *first))
    found = pd.DataFrame(rows, columns=["method", "steps", "low", "high"])
    return found.sort_values("steps", kind="stable", ignore_index=True)
