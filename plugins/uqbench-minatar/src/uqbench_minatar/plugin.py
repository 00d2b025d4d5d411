"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, EnvironmentSpec, hookimpl


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The five games, as one environment with the game as an option."""
    return [
        EnvironmentSpec(
            name="minatar",
            version=f"1+minatar{version('minatar')}",
            lanes=True,
            factory="uqbench_minatar.environment:make",
            config="uqbench_minatar.config:GameConfig",
            queries="uqbench_minatar.queries:query_states",
        )
    ]


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """Scripts, which learn nothing."""
    return [
        AgentSpec(
            name="minatar-script",
            version="2",
            factory="uqbench_minatar.agents.script:Script",
            config="uqbench_minatar.agents.config:ScriptConfig",
            role="trivial",
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``minatar`` suite."""
    return [files("uqbench_minatar") / "suites" / "minatar.toml"]
