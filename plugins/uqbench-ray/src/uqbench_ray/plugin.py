"""Registers the executor."""

from __future__ import annotations

from collections.abc import Iterable

from uqbench import ExecutorSpec, hookimpl


@hookimpl
def uqbench_executors() -> Iterable[ExecutorSpec]:
    """Ray; imported when it is used."""
    return [
        ExecutorSpec(
            name="ray",
            version="1",
            factory="uqbench_ray.executor:Ray",
            config="uqbench_ray.config:RayConfig",
            summary="one task of a Ray cluster for each batch",
        )
    ]
