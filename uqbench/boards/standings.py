"""A board's lines: what is shown of each method."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from uqbench.boards.columns import columns
from uqbench.boards.matrices import MethodScores
from uqbench.results.store import RunState
from uqbench.statistics.estimate import Estimate, Failures, estimate, improvement, share
from uqbench.suites.metrics import Metric, NormalizationConstants
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
    ranking = plan.suite.ranking_statistic(plan.budget)
    several = len({cell.task.name for cell in plan.cells}) > 1
    names = ("iqm", "mean", *(("median",) if several else ()), "worst_quarter", "optimality_gap")
    return (ranking, *(name for name in names if name != ranking))


def standings(plan: Plan, methods: Mapping[str, MethodScores]) -> list[BoardRow]:
    """The methods' lines, by name."""
    suite, primary = plan.suite, plan.suite.primary_metric(plan.budget)
    names = shown_statistics(plan)
    tasks = {task for own in methods.values() for task in own.tasks}
    baseline = methods[suite.baseline].normalized_primary if suite.baseline in methods else None
    failures = normalized_failures(suite, primary, tasks)
    lines = []
    for method, own in methods.items():
        values = own.normalized_primary
        over = None
        if values is not None and baseline is not None and method != suite.baseline:
            over = improvement(values, baseline)
        others = {}
        for column in columns(plan):
            metric = column.metric
            values_of = own.normalized(metric) if column.normalized else own.raw(metric)
            if values_of is not None:
                beyond = (
                    normalized_failures(suite, metric, tasks)
                    if column.normalized
                    else raw_failures(metric)
                )
                others[metric.name] = estimate(
                    column.statistic, values_of, beyond, clustered=suite.paired
                )
        lines.append(
            BoardRow(
                method=method,
                tasks=len(own.tasks),
                planned=len(own.scores),
                scored=sum(score.score is not None for score in own.scores),
                failed=sum(score.status == RunState.FAILED.value for score in own.scores),
                primary=(
                    {}
                    if values is None
                    else {n: estimate(n, values, failures, clustered=suite.paired) for n in names}
                ),
                fail_share=_fail_share(own, primary),
                improvement=over,
                others=others,
            )
        )
    return lines


def raw_failures(metric: Metric) -> Failures | None:
    """That a metric's runs may fail, in its own units; None where they may not."""
    return None if metric.fails_beyond is None else Failures(metric.bounds)


def normalized_failures(suite: Suite, metric: Metric, tasks: Collection[str]) -> Failures | None:
    """The same in units of the score: the widest range over the tasks that were scored."""
    if metric.fails_beyond is None:
        return None
    if metric.bounds is None:
        return Failures(None)
    constants = suite.normalization_constants(metric).items()
    ends = [_ends(c, metric.bounds) for task, c in constants if task in tasks]
    return Failures((min(low for low, _ in ends), max(high for _, high in ends)) if ends else None)


def _ends(constants: NormalizationConstants, bounds: tuple[float, float]) -> tuple[float, float]:
    first, second = (constants.normalize(bound) for bound in bounds)
    return min(first, second), max(first, second)


def _fail_share(own: MethodScores, primary: Metric) -> Estimate | None:
    values = own.raw(primary)
    if values is None or primary.fails_beyond is None:
        return None
    return share(np.vectorize(primary.fails, otypes=[bool])(values))
