"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import EnvironmentSpec, hookimpl


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """highway-v0."""
    return [
        EnvironmentSpec(
            name="highway",
            version="1",
            factory="uqbench_highway.environment:Highway",
            config="uqbench_highway.environment:HighwayOptions",
            summary="highway-v0 of highway-env; events: crashes",
            source="Leurent 2018, highway-env 1.12.1",
            events=("crashes",),
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``highway`` suite."""
    return [files("uqbench_highway") / "suites" / "highway.toml"]
