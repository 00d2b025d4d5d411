"""Metrics that every suite with queries has, of what its runs store: no suite lists them.

A *control* states a method's own means with widths that know nothing of the point. What a skill is
worth, it is worth beyond the best of its controls (:mod:`uqbench.uncertainty.controls`).
"""

from collections.abc import Sequence

from uqbench.suites.metrics import TRUTH_ERROR, Metric

CONTROLS = ("zero", "constant", "shuffled", "conformal", "distance", "gap", "counts")
"""Widths of zero; the best constant one; the method's, shuffled among the queries; with the bias of
the mean taken off, those of the other half of the states; widths that grow as the mean's distance
from the average mean, or from its state's greatest; and that fall with the visits."""
BESIDE = ("zero", "constant")
"""Controls that stand beside a coverage, which is no skill."""
SKILLS = ("queries/proper", "queries/information", "queries/correlation")
COVERAGE = "queries/coverage_90"
DIFFERENCES = "queries/difference_coverage_90"
"""Not scored where the truth does not resolve differences: also of older runs."""
START_BIAS = "queries/start_bias"
OWN = (TRUTH_ERROR, START_BIAS, "queries/correlation")
"""The standard error of the truth, root mean squared; the absolute mean error at the first queries,
in standard deviations of the climatology; the rank correlation of widths with errors."""


def with_controls(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """A suite's metrics, with those that its runs store and their controls, each behind its own."""
    known = {metric.statistic for metric in metrics if metric.kind == "queries"}
    if not known & {*SKILLS, COVERAGE}:
        return tuple(metrics)
    own = [_stored(name.partition("/")[2], name) for name in OWN if name not in known]
    return tuple(one for metric in (*metrics, *own) for one in (metric, *_controls(metric)))


def control_of(metric: Metric) -> str | None:
    """The control that a metric is of; None of any other."""
    control, slash, _ = metric.statistic.removeprefix("queries/").partition("/")
    return control if slash and control in CONTROLS else None


def follows(metric: Metric) -> bool:
    """Whether a metric is of what runs store, so that older runs may be without it."""
    return metric.statistic in (*OWN, DIFFERENCES) or control_of(metric) is not None


def _controls(metric: Metric) -> list[Metric]:
    names = {**dict.fromkeys(SKILLS, CONTROLS), COVERAGE: BESIDE}.get(metric.statistic, ())
    score = metric.statistic.partition("/")[2]
    return [_stored(f"{metric.name}_{name}", f"queries/{name}/{score}") for name in names]


def _stored(name: str, statistic: str) -> Metric:
    return Metric(name=name, summary="a control", kind="queries", statistic=statistic)
