"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import EnvironmentSpec, hookimpl


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """highway-v0."""
    return [
        EnvironmentSpec(
            name="highway",
            version=f"2+highway-env{version('highway-env')}",
            lanes=True,
            factory="uqbench_highway.environment:make",
            config="uqbench_highway.config:HighwayConfig",
            summary="highway-v0 of highway-env; events: crashes",
            source="Leurent 2018, highway-env 1.12.1",
            events=("crashes",),
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``highway`` suite."""
    return [files("uqbench_highway") / "suites" / "highway.toml"]
