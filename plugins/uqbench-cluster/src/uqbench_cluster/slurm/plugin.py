"""Registers the executor."""

from __future__ import annotations

from collections.abc import Iterable

from uqbench import ExecutorSpec, hookimpl


@hookimpl
def uqbench_executors() -> Iterable[ExecutorSpec]:
    """Slurm."""
    return [
        ExecutorSpec(
            name="slurm",
            version="1",
            factory="uqbench_cluster.slurm.executor:Slurm",
            config="uqbench_cluster.slurm.config:SlurmConfig",
            summary="one job of a Slurm array for each batch",
            waits=False,
        )
    ]
