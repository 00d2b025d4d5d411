"""A board's lines: what is shown of each method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uqbench.results.store import RunState
from uqbench.scoring.columns import columns
from uqbench.scoring.estimate import Estimate, Failures, estimate, improvement, share
from uqbench.scoring.scores import Score, is_finite
from uqbench.suites.metrics import Metric, NormalizationConstants
from uqbench.suites.plan import Plan
from uqbench.suites.suite import Suite

Matrix = NDArray[np.float64]


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


def standings(plan: Plan, scores: Sequence[Score]) -> list[BoardRow]:
    """The methods' lines, by name."""
    suite, primary = plan.suite, plan.suite.primary_metric(plan.budget)
    names = shown_statistics(plan)
    methods = by_method(scores)
    baseline = matrix(methods.get(suite.baseline, []), primary_score)
    lines = []
    for method, own in methods.items():
        values = matrix(own, primary_score)
        over = None
        if values is not None and baseline is not None and method != suite.baseline:
            over = improvement(values, baseline)
        others = {}
        for column in columns(plan):
            metric = column.metric
            value = normalized(suite, metric) if column.normalized else raw(metric)
            found = matrix(own, value)
            if found is not None:
                failures = (
                    normalized_failures(suite, metric, scores)
                    if column.normalized
                    else raw_failures(metric)
                )
                others[metric.name] = estimate(
                    column.statistic, found, failures, clustered=suite.paired
                )
        failures = normalized_failures(suite, primary, scores)
        lines.append(
            BoardRow(
                method=method,
                tasks=len({score.task for score in own}),
                planned=len(own),
                scored=sum(score.score is not None for score in own),
                failed=sum(score.status == RunState.FAILED.value for score in own),
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


def by_method(scores: Iterable[Score]) -> dict[str, list[Score]]:
    """The scores of each method, by name."""
    found: dict[str, list[Score]] = {}
    for score in scores:
        found.setdefault(score.method, []).append(score)
    return dict(sorted(found.items()))


def matrix(own: Iterable[Score], value: Callable[[Score], float | None]) -> Matrix | None:
    """One method's values ``[runs, tasks]``, or None where one is missing or not finite."""
    by_task: dict[str, list[float]] = {}
    for score in own:
        number = value(score)
        if number is None or not is_finite(number):
            return None
        by_task.setdefault(score.task, []).append(number)
    return np.array([by_task[task] for task in sorted(by_task)]).T if by_task else None


def primary_score(score: Score) -> float | None:
    """The normalized primary metric of a run."""
    return score.score


def raw(metric: Metric) -> Callable[[Score], float | None]:
    """A metric's raw value of a run."""
    return lambda score: score.values.get(metric.name)


def normalized(suite: Suite, metric: Metric) -> Callable[[Score], float | None]:
    """A metric's normalized value of a run; none on tasks without normalization constants."""
    constants = suite.normalization_constants(metric)

    def value(score: Score) -> float | None:
        number = score.values.get(metric.name)
        if number is None or score.task not in constants:
            return None
        return constants[score.task].normalize(number)

    return value


def raw_failures(metric: Metric) -> Failures | None:
    """That a metric's runs may fail, in its own units; None where they may not."""
    return None if metric.fails_beyond is None else Failures(metric.bounds)


def normalized_failures(suite: Suite, metric: Metric, scores: Sequence[Score]) -> Failures | None:
    """The same in units of the score: the widest range over the tasks that were scored."""
    if metric.fails_beyond is None:
        return None
    if metric.bounds is None:
        return Failures(None)
    tasks = {score.task for score in scores}
    constants = suite.normalization_constants(metric).items()
    ends = [_ends(c, metric.bounds) for task, c in constants if task in tasks]
    return Failures((min(low for low, _ in ends), max(high for _, high in ends)) if ends else None)


def _ends(constants: NormalizationConstants, bounds: tuple[float, float]) -> tuple[float, float]:
    first, second = (constants.normalize(bound) for bound in bounds)
    return min(first, second), max(first, second)


def _fail_share(own: Sequence[Score], primary: Metric) -> Estimate | None:
    values = matrix(own, raw(primary))
    if values is None or primary.fails_beyond is None:
        return None
    return share(np.vectorize(primary.fails, otypes=[bool])(values))
