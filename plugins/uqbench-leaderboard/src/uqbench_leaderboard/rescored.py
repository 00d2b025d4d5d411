"""A board by another risk measure than its suite's, or by a further score, from stored runs."""

import re
from dataclasses import replace

from uqbench.boards.leaderboard import Board
from uqbench.boards.scores import finished_runs, gather, is_finite
from uqbench.contract.errors import UqbenchError, in_words, unknown
from uqbench.contract.wording import count
from uqbench.registry.definitions import summary
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.results.tables import PREDICTIONS
from uqbench.runner.metric_values import scalar, truth_of
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
    metric = changed.suite.primary_metric(changed.budget)
    constants = changed.suite.normalization_constants(metric)
    truths = {cell.task.name: truth_of(cell.task, host) for cell in plan.cells}
    scores = gather(plan, store)
    by_risk = {score.run: score for score in scores}
    for score, run in finished_runs(plan.runs, scores):
        records, episodes = store.columns(run)
        steps = plan.budget.on(plan.suite.task(run.task)).steps
        value = scalar(metric, measure, episodes, records, steps, truths[run.task])
        normal = constants[run.task].normalize(value) if is_finite(value) else None
        values = score.values | {metric.name: value}
        by_risk[score.run] = replace(score, score=normal, values=values)
    return Board.of(changed, list(by_risk.values()))


def with_score(plan: Plan, score: str, host: Host) -> Plan:
    """The plan with a registered score among its suite's metrics.

    Raises:
        UqbenchError: there is no such score.
    """
    if score not in host.scores:
        raise unknown("score", score, host.scores)
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
    return replace(plan, suite=suite, score_versions={**plan.score_versions, score: spec.version})


def board_with(score: str, plan: Plan, host: Host, store: Store) -> Board:
    """The board of a plan's runs with a registered score, from what they predicted.

    Raises:
        UqbenchError: there is no such score, or runs kept no predictions.
    """
    from uqbench.uncertainty.predictions import predictions_score  # it imports torch

    changed = with_score(plan, score, host)
    metrics = [m for m in changed.suite.metrics if m.kind == "predictions"]
    names = [metric.name for metric in metrics if metric.statistic == score]
    scores = gather(plan, store)
    made, without = {one.run: one for one in scores}, []
    for one, run in finished_runs(plan.runs, scores):
        columns = store.table(run, PREDICTIONS)
        if columns is None:
            without.append(one.run)
            continue
        try:
            value = predictions_score(score, columns, host)
        except Exception as error:  # a plugin's score may raise anything
            raise UqbenchError(f"--rescore: {score} of {one.run}: {in_words(error)}") from error
        known = value if is_finite(value) else None
        made[one.run] = replace(one, values=one.values | dict.fromkeys(names, known))
    if without:
        raise UqbenchError(
            f"--rescore: {count(len(without), 'run')} kept no predictions, such as {without[0]}: "
            f"make them again with uqbench run --rerun."
        )
    return Board.of(changed, list(made.values()))


def slug(risk: str) -> str:
    """A measure's name as part of the names of metrics and folders: ``cvar-0-1``."""
    return re.sub(r"[^a-z0-9]+", "-", risk.lower()).strip("-")
