"""A run's final value of every metric of its budget."""

from __future__ import annotations

from uqbench.registry.plugins import Host
from uqbench.results.columns import Columns
from uqbench.results.records import Timing
from uqbench.runner.batching.batches import Batch
from uqbench.runner.metric_values import Truth, scalar
from uqbench.specs import imported
from uqbench.suites.configs import task_config
from uqbench.suites.tables import Task


def final_metrics(
    batch: Batch, host: Host, metrics: Columns, episodes: Columns, timing: Timing
) -> dict[str, float | None]:
    """A run's final value of every metric that its budget measures."""
    values: dict[str, float | None] = {}
    truth = truth_of(batch.cell.task, host)
    for metric in batch.metrics:
        needs = {"evaluation": batch.budget.evaluation, "queries": batch.budget.queries}
        if not metric.suits(batch.cell.task) or needs.get(metric.kind, True) is None:
            continue
        if metric.kind == "cost":
            values[metric.name] = timing.steps_per_s
            continue
        risk = host.risk_names.measure(metric.risk)
        values[metric.name] = scalar(metric, risk, episodes, metrics, batch.budget.steps, truth)
    return values


def truth_of(task: Task, host: Host) -> Truth:
    """The return and reward of the best policy, where the task's environment knows them."""
    if task.environment is None:
        return Truth()
    spec = host.environments[task.environment]
    options = task_config(task, host, where=f"tasks.{task.name}")
    of_episode, of_step = imported(spec.optimal_return), imported(spec.optimal_reward)
    return Truth(
        episode=None if of_episode is None else of_episode(options),
        step=None if of_step is None else of_step(options),
    )
