"""A run's final value of every metric of its budget."""

from __future__ import annotations

from uqbench.registry.plugins import Host
from uqbench.results.columns import Columns
from uqbench.results.records import Timing
from uqbench.runner.batching.batches import Batch
from uqbench.scoring.metrics import Truth, scalar
from uqbench.suites.configs import task_config
from uqbench.suites.tables import Task


def final_metrics(
    batch: Batch, host: Host, metrics: Columns, episodes: Columns, timing: Timing
) -> dict[str, float | None]:
    """A run's final value of every metric that its budget gives."""
    values: dict[str, float | None] = {}
    truth = _truth(batch.cell.task, host)
    for metric in batch.metrics:
        given = metric.kind != "evaluation" or batch.budget.evaluation
        given = given and (metric.kind != "queries" or batch.budget.queries)
        if not metric.suits(batch.cell.task) or not given:
            continue
        if metric.kind == "cost":
            values[metric.name] = timing.steps_per_s
            continue
        risk = host.risk_names.measure(metric.risk)
        values[metric.name] = scalar(metric, risk, episodes, metrics, batch.budget.steps, truth)
    return values


def _truth(task: Task, host: Host) -> Truth:
    """What the task's environment states of the best policy."""
    if task.environment is None:
        return Truth()
    spec = host.environments[task.environment]
    options = task_config(task, host, where=f"tasks.{task.name}")
    return Truth(
        episode=None if spec.optimal_return is None else spec.optimal_return(options),
        step=None if spec.optimal_reward is None else spec.optimal_reward(options),
    )
