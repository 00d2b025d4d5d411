"""A board by another risk measure than its suite's, or by a further score, from stored runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from uqbench.boards.leaderboard import Board
from uqbench.boards.scores import Score, gather, is_finite
from uqbench.errors import UqbenchError, unknown
from uqbench.registry.definitions import summary
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.results.tables import PREDICTIONS, read_columns
from uqbench.risk import RiskMeasure
from uqbench.runner.metric_values import Truth, scalar, truth_of
from uqbench.suites.metrics import EPISODE_STATISTICS, Metric
from uqbench.suites.plan import Plan


def with_risk(plan: Plan, risk: str) -> Plan:
    """The plan, scored by its primary metric under another risk measure, such as ``cvar(0.1)``.

    Normalization stays that of the primary metric. Claims are left out: they name their metrics.

    Raises:
        UqbenchError: the primary metric is not of episodes.
    """
    primary = plan.suite.primary_metric(plan.budget)
    if primary.statistic not in EPISODE_STATISTICS or primary.kind not in ("online", "evaluation"):
        raise UqbenchError(
            f"--risk: {primary.name!r}, which scores the budget {plan.budget_name!r}, is no number "
            f"of episodes ({', '.join(EPISODE_STATISTICS)}); a risk measure needs some."
        )
    metric = primary.model_copy(
        update={
            "name": f"{primary.name}_{slug(risk)}",
            "summary": f"{risk} instead of {primary.risk}: {primary.summary}",
            "risk": risk,
            "normalized_as": primary.normalized_as or primary.name,
        }
    )
    suite = plan.suite.model_copy(update={"metrics": (*plan.suite.metrics, metric)})
    budget = plan.budget.model_copy(update={"primary": metric.name})
    return replace(plan, suite=suite, budget=budget, claims=())


def board_by(risk: str, plan: Plan, host: Host, store: Store) -> Board:
    """The board of a plan's runs, scored by another risk measure.

    Raises:
        UqbenchError: the measure is unknown, or the primary metric is not of episodes.
    """
    measure = host.risk_names.measure(risk)
    changed = with_risk(plan, risk)
    truths = {cell.task.name: truth_of(cell.task, host) for cell in plan.cells}
    return Board.of(changed, rescored(changed, gather(plan, store), measure, store, truths))


def with_score(plan: Plan, score: str, host: Host) -> Plan:
    """The plan with a registered score among its suite's metrics.

    Raises:
        UqbenchError: there is no such score.
    """
    if score not in host.scores:
        raise unknown("score of predictions", score, host.scores)
    if any((m.kind, m.statistic) == ("predictions", score) for m in plan.suite.metrics):
        return plan
    spec = host.scores[score]
    metric = Metric(
        name=slug(score),
        summary=summary(spec),
        kind="predictions",
        statistic=score,
        direction=spec.direction,
    )
    suite = plan.suite.model_copy(update={"metrics": (*plan.suite.metrics, metric)})
    return replace(plan, suite=suite)


def board_with(score: str, plan: Plan, host: Host, store: Store) -> Board:
    """The board of a plan's runs with a registered score, from what they predicted.

    Raises:
        UqbenchError: there is no such score, or runs kept no predictions.
    """
    from uqbench.uncertainty.predictions import predictions_score  # it imports torch

    changed = with_score(plan, score, host)
    metrics = [m for m in changed.suite.metrics if m.kind == "predictions"]
    names = [metric.name for metric in metrics if metric.statistic == score]
    runs = {(run.task, run.method, run.seed): run for run in plan.runs}
    scores, without = [], []
    for one in gather(plan, store):
        if one.record is not None:
            run = runs[one.task, one.method, one.seed]
            run = run.on_device("cuda" if one.device == "cuda" else "cpu")
            columns = read_columns(store.at(run.place), PREDICTIONS, one.record.digests)
            if columns is None:
                without.append(one.run)
                continue
            value = predictions_score(score, columns, host)
            known = value if is_finite(value) else None
            one = replace(one, values=one.values | dict.fromkeys(names, known))
        scores.append(one)
    if without:
        raise UqbenchError(
            f"--rescore: {len(without)} runs kept no predictions, such as {without[0]}: make them "
            f"again with uqbench run --fresh."
        )
    return Board.of(changed, scores)


def slug(risk: str) -> str:
    """A measure's name as part of the names of metrics and folders: ``cvar-0-1``."""
    return re.sub(r"[^a-z0-9]+", "-", risk.lower()).strip("-")


def rescored(
    plan: Plan,
    scores: Sequence[Score],
    measure: RiskMeasure,
    store: Store,
    truths: Mapping[str, Truth],
) -> list[Score]:
    """The scores of a plan :func:`with_risk`, from the episodes of the finished runs.

    Args:
        plan: whose primary metric the runs were not scored by.
        scores: of its runs, with the metrics that they were scored by.
        measure: the primary metric's risk measure.
        store: of the runs.
        truths: what is known of the best policy, by task.
    """
    metric: Metric = plan.suite.primary_metric(plan.budget)
    constants = plan.suite.normalization_constants(metric)
    runs = {(run.task, run.method, run.seed): run for run in plan.runs}
    by_risk = []
    for score in scores:
        if not score.digest:
            by_risk.append(score)
            continue
        run = runs[score.task, score.method, score.seed]
        run = run.on_device("cuda" if score.device == "cuda" else "cpu")
        records, episodes = store.columns(run)
        steps = plan.budget.on(plan.suite.task(score.task)).steps
        value = scalar(metric, measure, episodes, records, steps, truths[score.task])
        normal = constants[score.task].normalize(value) if is_finite(value) else None
        by_risk.append(replace(score, score=normal, values=score.values | {metric.name: value}))
    return by_risk
