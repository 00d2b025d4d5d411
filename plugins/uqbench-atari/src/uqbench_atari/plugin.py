"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import EnvironmentSpec, hookimpl


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The 57 games, as one environment with the game as an option."""
    return [
        EnvironmentSpec(
            name="atari",
            version=f"1+ale{version('ale-py')}",
            factory="uqbench_atari.environment:make",
            config="uqbench_atari.environment:AtariOptions",
            summary="the 57 Atari games, preprocessed as in Mnih et al. 2015",
            source="Bellemare et al. 2012; Mnih et al. 2015",
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``atari`` suite."""
    return [files("uqbench_atari") / "suites" / "atari.toml"]
