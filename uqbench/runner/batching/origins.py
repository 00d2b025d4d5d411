"""Which plugins a batch comes from."""

from __future__ import annotations

from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin
from uqbench.runner.batching.batches import Batch


def plugins_of(batch: Batch, host: Host) -> list[Plugin]:
    """The plugins that a batch's task, method and metrics come from."""
    task, method = batch.cell.task, batch.cell.method
    names = host.risk_names.names_in(batch.cell.config, *(m.risk for m in batch.metrics))
    origins = [host.risk_measures.origin(name) for name in names]
    if task.environment is not None:
        origins.append(host.environments.origin(task.environment))
    if task.dataset is not None:
        origins.append(host.datasets.origin(task.dataset))
    if method.agent is not None:
        origins.append(host.agents.origin(method.agent))
    if method.estimator is not None:
        origins.append(host.estimators.origin(method.estimator))
    return origins
