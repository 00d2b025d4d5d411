"""A board's estimates of each method, and the methods that beat what costs no learning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uqbench.boards.columns import Column
from uqbench.boards.matrices import MethodScores
from uqbench.boards.tables import IMPROVEMENT, STATISTICS
from uqbench.contract.claim import Interval
from uqbench.statistics.bounded import Ranges, scaled, share
from uqbench.statistics.estimate import Estimate, estimate
from uqbench.statistics.ranks import Pair
from uqbench.statistics.statistic import point
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import Plan, RowRole
from uqbench.suites.suite import Suite


def shown_statistics(plan: Plan) -> tuple[str, ...]:
    """The statistics of a plan's board, the one that it is ranked by first.

    On one task the median over tasks is the mean, and left out.
    """
    ranking = plan.suite.ranks_by
    several = len({cell.task.name for cell in plan.cells}) > 1
    names = [name for name in STATISTICS if several or name != "median"]
    return (ranking, *(name for name in names if name != ranking))


def estimates(
    plan: Plan, columns: Sequence[Column], own: MethodScores, role: RowRole, over: Estimate | None
) -> dict[str, Estimate | None]:
    """Estimates of a method by the columns of ``leaderboard.csv``; None where runs are missing.

    These are statistics of the normalized primary metric, of which the mean, the optimality gap and
    the one that ranks have intervals; the share of runs beyond its failure threshold; the
    probability of improvement over the suite's baseline; and the other columns.

    Args:
        plan: of the board.
        columns: the other columns.
        own: the method's scores.
        role: its role; only methods that learn may fail to.
        over: its improvement over the baseline, from the board's pairs (:func:`improvements`).
    """
    suite, primary, learns = plan.suite, plan.suite.primary_metric(plan.budget), role == "method"
    values, raw, clustered = own.normalized_primary, own.raw(primary), suite.pairing == "seeds"
    estimates: dict[str, Estimate | None] = dict.fromkeys(shown_statistics(plan))
    if values is not None:
        ranges = ranges_by_task(suite, primary, own.tasks, learns=learns)
        estimates |= {name: Estimate(point(name, values), None, None) for name in estimates}
        for name in {"mean", "optimality_gap", suite.ranks_by}:
            ends = limits(suite, primary, own.tasks, name)
            estimates[name] = estimate(name, values, ranges, clustered=clustered, limits=ends)
    if (beyond := primary.fails_beyond) is not None:
        sign = 1 if primary.direction == "max" else -1
        fails = None if raw is None else (sign * raw < sign * beyond).astype(float)
        estimates["fail_share"] = fails if fails is None else Estimate.of(share(fails), len(fails))
    estimates[f"{IMPROVEMENT}{suite.baseline}"] = over
    for column in columns:
        metric, how, estimates[column.name] = column.metric, column.normalized, None
        if (values := column.values(own)) is not None:
            ranges = ranges_by_task(suite, metric, own.tasks, normalized=how, learns=learns)
            ends = limits(suite, metric, own.tasks, column.statistic, normalized=how)
            estimates[column.name] = estimate(
                column.statistic, values, ranges, clustered=clustered, limits=ends
            )
    return estimates


def ranges_by_task(
    suite: Suite,
    metric: Metric,
    tasks: Sequence[str],
    *,
    normalized: bool = True,
    learns: bool = True,
) -> Ranges | None:
    """The range of a metric on each task where runs may fail, in units of the score.

    Or in the metric's own units, where not ``normalized``. Rows that do not learn cannot fail to
    (``may_fail``).
    """
    metric = metric if learns else metric.model_copy(update={"may_fail": {}})
    constants = suite.normalization_constants(metric) if normalized else {}
    suited = [task for task in tasks if metric.suits(suite.task(task))]
    normalizers = [constants[task].normalize if normalized else float for task in suited]
    return scaled([metric.range_on(task) for task in suited], normalizers)


def limits(
    suite: Suite, metric: Metric, tasks: Sequence[str], statistic: str, *, normalized: bool = True
) -> Interval:
    """The least and the greatest value that a statistic over tasks of a metric can have.

    These are means over tasks of the metric's own, of an IQM or a median the furthest of them.
    """
    constants = suite.normalization_constants(metric) if normalized else {}
    ends = [
        sorted(constants[task].normalize(end) if normalized else end for end in metric.ends)
        for task in tasks
        if metric.suits(suite.task(task))
    ]
    if statistic in ("iqm", "median"):
        return min(low for low, _ in ends), max(high for _, high in ends)
    low, high = (sum(own) / len(ends) for own in zip(*ends, strict=True))
    return low, high


def improvements(pairs: Sequence[Pair], baseline: str) -> dict[str, Estimate]:
    """Each row's probability of improvement over a baseline, as the pairs have it."""
    ahead = {pair.first: pair.improvement for pair in pairs if pair.second == baseline}
    behind = (pair for pair in pairs if pair.first == baseline)
    return ahead | {pair.second: pair.improvement.against_one for pair in behind}


@dataclass(frozen=True)
class TrivialBaseline:
    """The best trivial row of a board, and which methods beat it.

    Attributes:
        best: the trivial row with the best ranking statistic, of those that have a value.
        beaten: by method: whether the interval of its difference to ``best`` lies above zero, one
            of those that hold together; None where there is no interval.
    """

    best: str
    beaten: Mapping[str, bool | None]


def trivial_baseline(
    values: Mapping[str, float], roles: Mapping[str, RowRole], pairs: Sequence[Pair]
) -> TrivialBaseline | None:
    """The trivial baseline of a board; None where no trivial row has all of its runs.

    Args:
        values: the ranking statistic of each fully scored row; more is better.
        roles: of all rows.
        pairs: the comparisons of all fully scored rows.
    """
    trivial = sorted(name for name in values if roles[name] == "trivial")
    if not trivial:
        return None
    best = max(trivial, key=values.__getitem__)
    beaten = {}
    for pair in pairs:
        other = pair.second if pair.first == best else pair.first
        if best in (pair.first, pair.second) and roles[other] == "method":
            beaten[other] = None if pair.difference.low is None else pair.better(other)
    return TrivialBaseline(best, beaten)
