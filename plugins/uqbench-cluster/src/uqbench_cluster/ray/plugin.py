"""Registers the executor."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from uqbench import ExecutorSpec, hookimpl


@hookimpl
def uqbench_executors() -> Iterable[ExecutorSpec]:
    """Ray, where its library is installed; imported when it is used."""
    if find_spec("ray") is None:
        return []
    return [
        ExecutorSpec(
            name="ray",
            version="1",
            factory="uqbench_cluster.ray.executor:Ray",
            config="uqbench_cluster.ray.config:RayConfig",
            summary="one task of a Ray cluster for each batch",
        )
    ]
