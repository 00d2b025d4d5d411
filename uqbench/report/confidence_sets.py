"""Confidence sets of the best method: by return, by risk, and by uncertainty.

Such a set is that of the board's ranks: the methods that no other is surely better than, all
together at 95 % (Holm, over all pairs). By the board's own score it is read from the board; by
another metric the same tests are made of its values, normalized where the suite normalizes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from uqbench.boards.columns import GROUPS
from uqbench.boards.stored import StoredBoard
from uqbench.statistics.levels import MINIMUM_SEEDS
from uqbench.statistics.ranks import Matrix, compare, places
from uqbench.suites.metrics import Group, Metric
from uqbench.uncertainty.scores import SCORING_RULES, scoring_rule

if TYPE_CHECKING:
    from uqbench.suites.suite import Suite

QUESTIONS = GROUPS


@dataclass(frozen=True)
class BestSet:
    """The confidence set of the best on one board, by one question.

    Attributes:
        metric: that answers it; empty where the board has none.
        methods: that may be first, the best first; empty where there is no verdict.
        of: how many were compared.
        why: why there is none.
    """

    metric: str = ""
    methods: tuple[str, ...] = ()
    of: int = 0
    why: str = ""


def best_set(board: StoredBoard, question: Group, suite: Suite | None) -> BestSet:
    """Who may be first on a board, by its suite as it is installed."""
    metric = _metric(board, question, suite)
    if metric is None:
        return BestSet(why="not measured")
    if not board.ranks:
        return BestSet(metric.name, why="too short to rank")
    if metric.name == board.primary["name"]:
        ranked = board.leaderboard[board.leaderboard["rank_low"].notna()]
        first = tuple(str(name) for name in ranked.loc[ranked["rank_low"] == 1, "method"])
        return BestSet(metric.name, first, len(ranked), "" if first else "runs are missing")
    values = dict(_values(board, metric, suite))
    if len(values) < 2:
        return BestSet(metric.name, why="fewer than two methods state it")
    if min(map(len, values.values())) < MINIMUM_SEEDS:
        return BestSet(metric.name, why="too few seeds")
    pairs = compare(values, "mean", paired=board.manifest.paired)
    found = places(values, pairs, "mean")
    order = sorted(found, key=lambda name: found[name].rank)
    first = tuple(name for name in order if found[name].low == 1)
    return BestSet(metric.name, first, len(values))


def _metric(board: StoredBoard, question: Group, suite: Suite | None) -> Metric | None:
    """The board's score where it answers the question, else the suite's own choice, else any.

    Metrics are grouped as the suite does it today; boards keep older definitions.
    """
    known = {} if suite is None else {metric.name: metric for metric in suite.metrics}
    name = str(board.primary["name"])
    own = known.get(name) or Metric.model_validate(board.primary)
    named = [] if suite is None else [known[name] for name in suite.pareto]
    candidates = [m for m in (own, *named, *known.values()) if m.name in board.scores.columns]
    answers = [m for m in candidates if _answers(m, question)]
    if question == "uncertainty" and answers and answers[0] not in (own, *named):
        answers = sorted(answers, key=_preference)
    return answers[0] if answers else None


def _answers(metric: Metric, question: Group) -> bool:
    if metric.kind == "dataset":
        return question == "uncertainty"
    if metric.about == "uncertainty":
        return question == "uncertainty" and scoring_rule(metric).proper
    return metric.about == question


def _preference(metric: Metric) -> int:
    """The place of a proper score among those that are known."""
    known = [*SCORING_RULES]
    name = scoring_rule(metric).name
    return known.index(name) if name in known else len(known)


def _values(
    board: StoredBoard, metric: Metric, suite: Suite | None
) -> Iterator[tuple[str, Matrix]]:
    """Values ``[runs, tasks]`` of the ranked methods whose runs all have one; more is better."""
    constants = {} if suite is None else suite.normalization_constants(metric)
    roles = dict(zip(board.leaderboard["method"], board.leaderboard["role"], strict=True))
    sign = 1.0 if metric.direction == "max" else -1.0
    normalize = set(board.scores["task"]) <= constants.keys()
    for method, own in board.scores.groupby("method", sort=True):
        if roles.get(method) != "method":
            continue
        table: pd.DataFrame = own.pivot(index="seed", columns="task", values=metric.name)
        if normalize:
            table = table.apply(lambda column: column.map(constants[str(column.name)].normalize))
        matrix = table.to_numpy(np.float64) * (1.0 if normalize else sign)
        if np.isfinite(matrix).all():
            yield str(method), matrix
