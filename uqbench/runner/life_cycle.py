"""The life-cycle hooks of plugins, called run by run for the events of batches."""

from __future__ import annotations

from collections.abc import Iterator

from uqbench.registry.plugins import Host
from uqbench.runner import events
from uqbench.runner.events import Event


def call_hooks(host: Host, event: Event) -> Iterator[str]:
    """Call the hooks that an event has; yields a message for each plugin that failed in one."""
    for run in event.batch.runs:
        match event:
            case events.Started():
                yield from host.call_hook("uqbench_run_started", run=run)
            case events.Progress():
                metrics = event.metrics.get(run.seed, {})
                yield from host.call_hook(
                    "uqbench_run_progress", run=run, step=event.step, metrics=metrics
                )
            case events.Finished():
                scalars = event.scalars.get(run.seed, {})
                yield from host.call_hook("uqbench_run_finished", run=run, scalars=scalars)
            case events.Failed():
                yield from host.call_hook("uqbench_run_failed", run=run, reason=event.reason)
