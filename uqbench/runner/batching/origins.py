"""Which plugins a batch comes from."""

from __future__ import annotations

from typing import Any

from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin, Registry
from uqbench.runner.batching.batches import Batch


def plugins_of(batch: Batch, host: Host) -> list[Plugin]:
    """The plugins that a batch's task, method and metrics come from."""
    task, method = batch.cell.task, batch.cell.method
    names = host.risk_names.names_in(batch.cell.config, *(m.risk for m in batch.metrics))
    origins = [host.risk_measures.origin(name) for name in names]
    parts: list[tuple[Registry[Any], str | None]] = [
        (host.environments, task.environment),
        (host.datasets, task.dataset),
        (host.agents, method.agent),
        (host.estimators, method.estimator),
    ]
    return origins + [registry.origin(name) for registry, name in parts if name is not None]
