"""A run's final numbers, from its episodes and records."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.errors import UqbenchError
from uqbench.contract.risk import RiskMeasure
from uqbench.contract.specs import imported
from uqbench.registry.plugins import Host
from uqbench.results.tables import Columns, RunColumns
from uqbench.suites.configs import task_config
from uqbench.suites.metrics import RECORDS, Metric
from uqbench.suites.tables import Budget, Task

PARTS = 10
"""The parts of an area's window; each has the mean return of the episodes that end in it."""


@dataclass(frozen=True)
class Truth:
    """Known returns of a task's best policy; None where they are not.

    Attributes:
        episode: expected undiscounted return of an episode.
        step: average reward of a step, of a continuing task.
    """

    episode: float | None = None
    step: float | None = None


def record_step(k: int, steps: int) -> int:
    """The step after which record ``k`` of ``RECORDS`` is taken, in a run of ``steps``."""
    return steps * k // RECORDS


def scalar(
    metric: Metric,
    risk: RiskMeasure,
    episodes: Columns,
    records: Columns,
    steps: int,
    truth: Truth | None = None,
) -> float | None:
    """A metric's value for one run, or None where nothing of the kind is in its window.

    What is no finite number, such as a return that diverged, is no value either.

    Args:
        metric: what to compute, of any kind but ``cost``.
        risk: the metric's risk measure.
        episodes: columns ``step``, ``phase``, ``end``, ``length``, ``return``,
            ``discounted_return`` and ``event_NAME``.
        records: columns ``step``, ``metric``, ``value``; ``reward`` and ``events/NAME`` are
            cumulative.
        steps: length of the run.
        truth: of the task, for a regret.
    """
    value = _value(metric, risk, episodes, records, steps, truth or Truth())
    return value if value is not None and math.isfinite(value) else None


def _value(
    metric: Metric, risk: RiskMeasure, episodes: Columns, records: Columns, steps: int, truth: Truth
) -> float | None:
    first = record_step(round(RECORDS * (1 - metric.window)), steps)
    recorded = records["value"][records["metric"] == metric.statistic]
    if metric.kind in ("dataset", "predictions"):
        return float(recorded.item())
    if metric.kind == "queries":  # None where an agent states nothing of the kind
        return float(recorded[-1]) if len(recorded) else None
    if metric.kind == "agent":
        return _mean_of_records(records, metric.statistic, first)
    online = metric.kind == "online"
    if online and metric.statistic == "reward_per_step":
        return _collected(records, "reward", first, steps) / (steps - first)
    if online and metric.statistic == "cumulative_regret" and truth.step is not None:
        return truth.step * (steps - first) - _collected(records, "reward", first, steps)
    if online and metric.event is not None and metric.event[0] in ("events", "events_per_step"):
        statistic, name = metric.event
        total = _collected(records, f"events/{name}", first, steps)
        return total if statistic == "events" else total / (steps - first)
    if online:
        training, cut = episodes["phase"] == "training", episodes["end"] == "unfinished"
        counted, cut = training & ~cut & (episodes["step"] > first), training & cut
        if metric.statistic == "area":  # who never ends an episode has what it had till then
            part = np.searchsorted(np.linspace(first, steps, PARTS + 1)[1:-1], episodes["step"])
            counted |= cut & ((counted & (part == PARTS - 1)).sum() < cut.sum())
    else:
        counted = episodes["phase"] == "evaluation"
        counted &= episodes["step"] == episodes["step"][counted].max(initial=-1)
    returns = float(episodes["return"][counted].sum())
    if metric.statistic == "cumulative_regret":  # of no episodes it is zero
        return float(_known(truth.episode, metric) * counted.sum() - returns)
    if not counted.any():
        return None
    if metric.statistic == "area":  # within a part episodes weigh alike; one without has the next's
        parts = np.unique(part[counted])
        means = [episodes["return"][counted & (part == k)].mean() for k in parts]
        return float(np.array(means) @ np.diff(parts, prepend=-1) / (parts[-1] + 1))
    if metric.statistic == "reward_per_step":
        return returns / float(episodes["length"][counted].sum())
    if metric.event is not None:
        return _of_event(metric.event, episodes, counted)
    column = "return" if metric.statistic == "regret" else metric.statistic
    value = _risk_adjusted(metric.risk, risk, episodes[column][counted].astype(np.float64))
    return _known(truth.episode, metric) - value if metric.statistic == "regret" else value


def _risk_adjusted(name: str, risk: RiskMeasure, values: NDArray[np.float64]) -> float:
    """The measure of equally likely values; one that is no number is refused."""
    import torch  # where it computes: reading boards does not

    from uqbench.uncertainty.plain import PLAIN, form_of

    given = torch.from_numpy(values)
    said = risk(given, torch.full_like(given, 1 / len(given)))
    if type(said) not in PLAIN or said.shape or said.is_complex():
        found = f"the risk measure {name!r} returned {form_of(said)}"
        raise UqbenchError(f"{found}; expected a torch.Tensor of one real number, without shape")
    return float(said)


def _collected(records: Columns, name: str, first: int, steps: int) -> float:
    """The growth of a cumulative record after step ``first``."""
    chosen = records["metric"] == name
    at = dict(zip(records["step"][chosen], records["value"][chosen], strict=True))
    return float(at[steps] - (at[first] if first else 0.0))


def _mean_of_records(records: Columns, name: str, first: int) -> float | None:
    """Mean of an agent's metric after step ``first``; NaN is what it had no value for.

    None where more than half of the records have none: the mean of the rest would speak of them
    alone, as of a width that is known only once the agent has converged.
    """
    chosen = (records["metric"] == name) & (records["step"] > first)
    values = records["value"][chosen]
    given = values[~np.isnan(values)]
    return float(given.mean()) if 2 * len(given) >= len(values) > 0 else None


def _of_event(event: tuple[str, str], episodes: Columns, counted: NDArray[np.bool_]) -> float:
    statistic, name = event
    counts = episodes[f"event_{name}"][counted]
    of_episodes = {"episodes_with": counts > 0, "events_per_episode": counts}
    if statistic in of_episodes:
        return float(of_episodes[statistic].mean())
    total = float(counts.sum())
    return total if statistic == "events" else total / float(episodes["length"][counted].sum())


def _known(truth: float | None, metric: Metric) -> float:
    if truth is None:
        raise ValueError(f"{metric.statistic} {metric.name!r} needs the task's optimal return")
    return truth


def final_metrics(
    metrics: Iterable[Metric], task: Task, budget: Budget, left: RunColumns, host: Host,
    steps_per_s: float | None = None,
) -> dict[str, float | None]:  # fmt: skip
    """A run's final value of every metric that its budget, on its task, measures."""
    values: dict[str, float | None] = {}
    (stored,), truth = stored_values(metrics, [left.predictions], host), truth_of(task, host)
    for metric in metrics:
        needs = {"evaluation": budget.evaluation, "queries": budget.queries}
        if not metric.suits(task) or needs.get(metric.kind, True) is None:
            continue
        known = {metric.statistic: steps_per_s} if metric.kind == "cost" else stored
        if metric.statistic not in known:
            risk = host.risk_names.measure(metric.risk)
            own = scalar(metric, risk, left.episodes, left.metrics, budget.steps, truth)
            known = {metric.statistic: own}
        values[metric.name] = known[metric.statistic]
    return values


def stored_values(
    metrics: Iterable[Metric], tables: Sequence[Columns | None], host: Host
) -> list[dict[str, float | None]]:
    """Scores by statistic of what each run of a cell stated, as its ``predictions.parquet`` has it.

    Controls among them; those that need other runs have these alone to learn from.
    """
    from uqbench.uncertainty.controls import stored_scores  # they import torch
    from uqbench.uncertainty.predicted_controls import predicted_scores

    return [
        found | predicted_scores(metrics, table, host)
        for found, table in zip(stored_scores(tables), tables, strict=True)
    ]


def truth_of(task: Task, host: Host) -> Truth:
    """The return and reward of the best policy, where the task's environment knows them."""
    if task.environment is None:
        return Truth()
    spec = host.environments[task.environment]
    options = task_config(task, host, where=f"tasks.{task.name}")
    functions = imported(spec.optimal_return), imported(spec.optimal_reward)
    return Truth(*(None if one is None else one(options) for one in functions))
