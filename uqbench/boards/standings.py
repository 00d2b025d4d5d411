"""A board's lines: what is shown of each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uqbench.boards.columns import columns
from uqbench.boards.matrices import MethodScores
from uqbench.results.store import RunState
from uqbench.statistics.estimate import Estimate, estimate, improvement, share
from uqbench.statistics.failures import Failures, failures_of
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import Plan
from uqbench.suites.suite import Suite


@dataclass(frozen=True)
class BoardRow:
    """A method's line of a leaderboard.

    Attributes:
        planned, scored, failed: numbers of runs.
        primary: statistics of the normalized primary metric, by name; empty where runs are missing.
        fail_share: share of runs beyond the primary metric's failure threshold; None where there is
            none, or runs are missing.
        improvement: probability of improvement over the suite's baseline; None for the baseline
            itself and where runs are missing.
        others: the board's other columns, by metric.
    """

    method: str
    tasks: int
    planned: int
    scored: int
    failed: int
    primary: Mapping[str, Estimate]
    fail_share: Estimate | None
    improvement: Estimate | None
    others: Mapping[str, Estimate]


def shown_statistics(plan: Plan) -> tuple[str, ...]:
    """The statistics of a plan's board, the one that it is ranked by first.

    On one task the median over tasks is the mean, and left out.
    """
    ranking = plan.suite.ranks_by
    several = len({cell.task.name for cell in plan.cells}) > 1
    names = ("iqm", "mean", *(("median",) if several else ()), "worst_quarter", "optimality_gap")
    return (ranking, *(name for name in names if name != ranking))


def standings(plan: Plan, methods: Mapping[str, MethodScores]) -> list[BoardRow]:
    """The methods' lines, by name."""
    suite, primary = plan.suite, plan.suite.primary_metric(plan.budget)
    names = shown_statistics(plan)
    baseline = methods[suite.baseline].normalized_primary if suite.baseline in methods else None
    lines = []
    for method, own in methods.items():
        values, raw = own.normalized_primary, own.raw(primary)
        shown, over, fails, others = {}, None, None, {}
        if values is not None:
            failures = failures_by_task(suite, primary, own.tasks)
            shown = {n: estimate(n, values, failures, clustered=suite.paired) for n in names}
            if baseline is not None and method != suite.baseline:
                over = improvement(values, baseline)
        if raw is not None and primary.fails_beyond is not None:
            fails = share(np.vectorize(primary.fails, otypes=[bool])(raw))
        for column in columns(plan):
            metric = column.metric
            values = own.normalized(metric) if column.normalized else own.raw(metric)
            if values is not None:
                failures = failures_by_task(suite, metric, own.tasks, normalized=column.normalized)
                others[metric.name] = estimate(
                    column.statistic, values, failures, clustered=suite.paired
                )
        scored = sum(score.score is not None for score in own.scores)
        failed = sum(score.status == RunState.FAILED.value for score in own.scores)
        runs = len(own.scores), scored, failed
        lines.append(BoardRow(method, len(own.tasks), *runs, shown, fails, over, others))
    return lines


def failures_by_task(
    suite: Suite, metric: Metric, tasks: Sequence[str], *, normalized: bool = True
) -> list[Failures] | None:
    """That a metric's runs may fail, on each task, in units of the score; None where they may not.

    Or in the metric's own units, where not ``normalized``.
    """
    constants = suite.normalization_constants(metric) if normalized else {}
    normalizers = [constants[task].normalize if normalized else float for task in tasks]
    return failures_of(metric.fails_beyond, metric.bounds, metric.direction, normalizers)
