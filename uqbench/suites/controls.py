"""Metrics of controls, of what runs store of queries and predictions: no suite lists them.

A *control* states a method's own means with widths that know nothing of the point. What a skill is
worth, it is worth beyond the best of its controls (:mod:`uqbench.uncertainty.controls`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from uqbench.contract.specs import Skill
from uqbench.suites.metrics import TRUTH_ERROR, Metric

CONTROLS = ("zero", "constant", "shuffled", "distance", "gap", "counts")
"""Widths of zero; a constant one; the method's, shuffled among the queries; widths that grow as the
mean's distance from the average mean, or from its state's greatest; and that fall with the
visits. Sizes are those that are best in the other runs of the task."""
OF_OTHERS = ("constant", "distance", "gap", "counts")
SIZED, ONE_SIZE = "queries/sized/", "queries/one-size/"
"""Begin the statistic of a score of the method's own widths, times the factor that is best in its
other runs, of the task or of all tasks; of a single run as they are stated."""
OF_PREDICTIONS: Mapping[Skill, tuple[str, ...]] = {
    "prediction": ("shares",),
    "order": ("constant", "nearest"),
    "detection": ("constant", "nearest"),
}
"""The targets' shares, of a regression their mean and variance; one uncertainty for all inputs,
which scores what shuffled ones score in expectation; the distance to the nearest training input."""
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


def with_controls(metrics: Sequence[Metric], skills: Mapping[str, Skill]) -> tuple[Metric, ...]:
    """A suite's metrics, with those that its runs store and their controls, each behind its own.

    Args:
        metrics: the suite's own.
        skills: by name, of registered scores of predictions.
    """
    known = {metric.statistic for metric in metrics if metric.kind == "queries"}
    acts = any(metric.kind in ("online", "evaluation") for metric in metrics)  # not in a log
    asked = [name for name in OWN if name not in known and (acts or name != START_BIAS)]
    own = [_stored(name.partition("/")[2], name) for name in asked]
    every = (*metrics, *(own if known & {*SKILLS} else own[:1] if COVERAGE in known else ()))
    return tuple(one for metric in every for one in (metric, *_controls(metric, skills)))


def control_of(metric: Metric) -> str | None:
    """The control that a metric is of; None of any other."""
    kind, _, rest = metric.statistic.partition("/")
    names = {"queries": CONTROLS, "predictions": sum(OF_PREDICTIONS.values(), ())}.get(kind, ())
    control, slash, _ = rest.partition("/")
    return control if slash and control in names else None


def follows(metric: Metric) -> bool:
    """Whether a metric is of what runs store, so that older runs may be without it."""
    stored = metric.statistic in (*OWN, DIFFERENCES) or of_other_runs(metric)
    return stored or control_of(metric) is not None


def of_other_runs(metric: Metric) -> bool:
    """Whether a metric's value depends on other runs."""
    return metric.statistic.startswith((SIZED, ONE_SIZE)) or control_of(metric) in OF_OTHERS


def _controls(metric: Metric, skills: Mapping[str, Skill]) -> list[Metric]:
    if metric.kind == "predictions" and metric.statistic in skills:
        names, score = OF_PREDICTIONS[skills[metric.statistic]], metric.statistic
        stored = [(f"{metric.name}_{name}", f"predictions/{name}/{score}") for name in names]
        return [_stored(*one, kind="predictions", tasks=metric.tasks) for one in stored]
    names = {**dict.fromkeys(SKILLS, CONTROLS), COVERAGE: BESIDE}.get(metric.statistic, ())
    score = metric.statistic.partition("/")[2]
    return [_stored(f"{metric.name}_{name}", f"queries/{name}/{score}") for name in names]


def _stored(name: str, statistic: str, **others: Any) -> Metric:
    given = {"name": name, "summary": "a control", "kind": "queries", "statistic": statistic}
    return Metric.model_validate(given | others)
