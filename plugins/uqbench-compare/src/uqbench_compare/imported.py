"""Boards of scores that others made.

They have the statistics, the tables and the pages of every board. Their manifest says *imported*
and lists the digests of the files; no row of theirs is ranked with one that was run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from uqbench.boards.imported import IMPORTED, imported_cell, plain_name
from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import Planned
from uqbench.boards.scores import is_finite
from uqbench.contract.errors import UqbenchError, unknown
from uqbench.contract.identity import Run
from uqbench.results.scores import Score, Scores
from uqbench.results.store import RunState
from uqbench.suites.metrics import Metric, Normalization, NormalizationConstants
from uqbench.suites.plan import Plan
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget, Method, Task

METRIC = "imported_score"
"""Not *score*, which is a column of ``scores.csv`` already."""
Ranking = Literal["iqm", "mean", "median"]
Units = Literal["run", "seed"]
Better = Literal["higher", "lower"]
MINIMUM_TASKS = 3
"""The fewest of an IQM."""
UNFINISHED = {
    **{state.value: state for state in RunState if state is not RunState.FINISHED},
    **dict.fromkeys(["blocked", "pending", "queued", "scheduled", "waiting"], RunState.MISSING),
    "paused": RunState.ABANDONED, "preempting": RunState.RUNNING,
}  # fmt: skip
"""States of runs without a score, by the words of other tools; any other word is a failure."""
Constants = Mapping[str, tuple[float, float]]
"""The raw scores that are 0 and 1, by task."""


def imported_board(
    table: pd.DataFrame,
    constants: Constants | None = None,
    *,
    by: Ranking | None = None,
    better: Better | None = None,
    paired: bool = False,
    units: Units = "run",
    name: str = "scores",
    files: Mapping[str, str] | None = None,
    scale: tuple[str, str] = ("as given", "as given"),
) -> Board:
    """A board of a table of scores.

    Every method is to have as many runs of every task as it has of one: what it lacks is missing,
    and it has no rank, as on any board.

    Args:
        table: ``method``, ``task``, ``seed``, ``score``, perhaps ``zero``, ``one`` and ``state``.
        constants: the scores that are 0 and 1, of rows that do not say so themselves.
        by: the statistic that ranks; None for the IQM, or for the mean where :func:`few_values`.
        better: whether higher or lower scores are better; None where constants say so, and
            otherwise higher. A board's scores are so that more is better: lower ones are negated.
        paired: whether the methods met the same worlds of a seed.
        units: what is one observation: each run on a task, or a seed's mean over all tasks, where
            one run (a network that is scored on each) has them all.
        name: of the board's suite.
        files: digests of what was read, by name.
        scale: what is 0 and 1, in words.

    Raises:
        UqbenchError: a name cannot be shown, a task has no constants, 0 and 1 are one score, or
            are the other way round than ``better`` says.
    """
    table = normalized(table.copy(), constants, better)
    table = _by_seed(table) if units == "seed" else table
    methods, tasks = (list(dict.fromkeys(table[column])) for column in ("method", "task"))
    known = [own for _, own in table.dropna(subset="score").groupby("method")["score"]]
    ends = dict.fromkeys(tasks, NormalizationConstants(zero=0.0, one=1.0))
    text = "imported: not run by uqbench"
    budget = Budget(summary=text, steps=1, seeds=1, ranks=True, step_ms=1.0)
    suite = Suite.model_construct(
        name=name,
        version="1",
        summary="Scores that were imported: not run by uqbench.",
        primary=METRIC,
        baseline=methods[0],
        ranks_by=by or ("mean" if few_values(len(tasks), known) else "iqm"),
        paired=paired,
        tasks=tuple(Task.model_construct(name=task, dataset=IMPORTED) for task in tasks),
        methods=tuple(Method.model_construct(name=of, estimator=IMPORTED) for of in methods),
        metrics=(Metric(name=METRIC, summary="as read", kind="dataset", statistic=METRIC),),
        normalization={
            METRIC: Normalization(version="1", zero=scale[0], one=scale[1], constants=ends)
        },
        budgets={IMPORTED: budget},
    )
    table = table.assign(run=_numbers(table, paired=paired))
    rows = table.set_index(["method", "task", "run"])
    values, states = rows["score"].to_dict(), rows.get("state", pd.Series()).to_dict()
    seeds = {name: sorted(own) for name, own in table.groupby("method")["run"].unique().items()}
    if paired and len({*map(tuple, seeds.values())}) > 1:
        raise UqbenchError("paired: expected the same seeds of every method; theirs differ.")
    cells = [
        imported_cell(suite, task, name, seeds[name]) for name in methods for task in suite.tasks
    ]
    scores = [
        _score(run, values.get(key), str(states.get(key, "")))
        for cell in cells
        for run in cell.runs
        for key in [(run.method, run.task, run.seed)]
    ]
    plan = Plan(suite, IMPORTED, budget, tuple(cells), standard=True)
    return Board(plan, Scores.of(scores), Planned.of(plan), imported=dict(files or {}))


def few_values(tasks: int, scores: Iterable[ArrayLike]) -> bool:
    """Whether an IQM has no interval that can be trusted: of few tasks, or few different values.

    That is with fewer than three tasks, or where more than a tenth of a method's runs, two at
    least, have the score of one of its quartiles (``docs/statistics.md``).

    Args:
        tasks: that the scores are of.
        scores: of each method.
    """
    ordered = [np.sort(own, axis=None) for own in scores]
    cut = [(own, k) for own in ordered for k in (len(own) // 4, -1 - len(own) // 4)]
    few = any((own == own[k]).sum() > max(1, len(own) / 10) for own, k in cut)
    return few or tasks < MINIMUM_TASKS


def _by_seed(table: pd.DataFrame) -> pd.DataFrame:
    """The means of seeds over all tasks; none of a seed that lacks one of them."""
    tasks = table["task"].nunique()
    by_seed = table.groupby(["method", "seed"], sort=False)["score"]
    means = by_seed.mean().where(by_seed.count() == tasks)
    return means.reset_index().assign(task=f"mean-of-{tasks}-tasks")


def constants_of(suite: Suite, table: pd.DataFrame) -> tuple[Constants, tuple[str, str]]:
    """Constants of a table's tasks, whose names may be written otherwise, and these in words.

    Raises:
        UqbenchError: the suite has no such task; says the nearest name.
    """
    metric = suite.primary_metric(suite.budget(suite.default_budget))
    known = suite.normalization[metric.normalized_as or metric.name]
    plain = {plain_name(name): (of.zero, of.one) for name, of in known.constants.items()}
    tasks = {task: plain_name(task) for task in table["task"].unique()}
    for task in (task for task, name in tasks.items() if name not in plain):
        raise unknown("task", task, known.constants, f"Suite {suite.name} has")
    return {task: plain[name] for task, name in tasks.items()}, (known.zero, known.one)


def normalized(
    table: pd.DataFrame, constants: Constants | None, better: Better | None
) -> pd.DataFrame:
    """The table with its scores between 0 and 1 of their tasks, and names that can be shown.

    Raises:
        UqbenchError: see :func:`imported_board`.
    """
    bare = table["zero"].isna() if "zero" in table else pd.Series(constants is None, table.index)
    if constants is None and bare.any() and not bare.all():
        own, other = (next(iter(table.loc[which, "method"])) for which in (bare, ~bare))
        raise UqbenchError(
            f"the scores of {other} are normalized, those of {own} are not: give the constants of "
            f"each task (--constants atari, say), or scores of one kind."
        )
    known = constants or dict.fromkeys(table["task"], (0.0, -1.0 if better == "lower" else 1.0))
    for end, column in enumerate(("zero", "one")):
        given = table["task"].map({task: of[end] for task, of in known.items()}).astype(float)
        table[column] = table[column].fillna(given) if column in table else given
    scale = table["one"] - table["zero"]
    for _, row in table[~(scale.abs() > 0)].iterrows():
        raise UqbenchError(
            f"{row['task']}: expected two scores that differ, for 0 and 1; got {row['zero']:g} and "
            f"{row['one']:g}. There are constants for the tasks {', '.join(known)}."
        )
    ways = {"lower" if one < 0 else "higher" for one in scale}
    if better is not None and ways != {better}:
        raise UqbenchError(
            f"better={better!r}, and by the constants {' or '.join(sorted(ways))} is: expected the "
            f"better score as 1."
        )
    names = {of: _named(table[of], of) for of in ("method", "task")}
    return table.assign(score=(table["score"] - table["zero"]) / scale, **names)


def _named(names: pd.Series, what: str) -> pd.Series:
    """Names as boards can show them: of one line, without what ends a cell of a table."""
    shown = {name: name.replace("/", "-").strip() for name in names.unique()}
    for name, text in shown.items():
        if not re.fullmatch(r"[^|`<>\[\]]{1,100}", text) or not text.isprintable():
            raise UqbenchError(
                f"the {what} {name!r:.60} cannot be shown: expected a name of at most 100 "
                f"characters, without | ` < > [ ]."
            )
    if len({*shown.values()}) < len(shown):
        raise UqbenchError(f"two {what}s have one name once / is written -: rename one.")
    return names.map(shown)


def _numbers(table: pd.DataFrame, *, paired: bool) -> pd.Series:
    """Numbers of runs: their seeds, where all tasks have the same or these pair; or 0, 1, …."""
    seeds, cell = table["seed"].astype(str), ["method", "task"]
    each = seeds.groupby([table[of] for of in cell]).agg(frozenset)
    digits = bool(seeds.str.fullmatch(r"0|[1-9]\d{0,8}").all())
    if digits and (paired or (each.groupby("method").nunique() == 1).all()):
        return seeds.astype(int)
    if paired:  # whatever they are called, the same ones meet
        return seeds.map({seed: k for k, seed in enumerate(sorted({*seeds}))})
    return table.groupby(cell).cumcount()


def _score(run: Run, value: float | None, word: str) -> Score:
    """A planned run's score; without one, what its tool calls its state says which it has here."""
    score = value if is_finite(value) else None
    state = UNFINISHED.get(word, RunState.FAILED) if value is not None else RunState.MISSING
    state, values = (state, {}) if score is None else (RunState.FINISHED, {METRIC: score})
    return Score(run.task, run.method, run.seed, state.value, "", score, {**values}, run.place)
