"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from uqbench import AgentSpec, EnvironmentSpec, hookimpl
from uqbench_minatar.config import GameConfig

if TYPE_CHECKING:
    from uqbench.queries import QueryStates


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
            queries=_query_states,
            picture="uqbench_minatar.pictures:frame",
        )
    ]


def _query_states(config: GameConfig) -> QueryStates:
    from uqbench_minatar.queries import query_states  # imports torch: only when a run needs it

    return query_states(config)


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
