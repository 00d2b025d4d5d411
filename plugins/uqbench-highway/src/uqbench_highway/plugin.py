"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from uqbench import AgentSpec, EnvironmentSpec, hookimpl

if TYPE_CHECKING:
    from uqbench.boards.stored import StoredBoard
    from uqbench.contract.figure import Figure


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
            events=("crashes",),
            queries="uqbench_highway.queries:query_states",
        )
    ]


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """A script and a planner: baselines."""
    return [
        AgentSpec(
            name="highway-keep-right",
            version="1",
            factory="uqbench_highway.agents.keep_right:KeepRight",
            config="uqbench_highway.agents.config:KeepRightConfig",
            role="trivial",
        ),
        AgentSpec(
            name="highway-planner",
            version="1",
            factory="uqbench_highway.agents.planner:Planner",
            config="uqbench_highway.agents.config:PlannerConfig",
            role="oracle",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``highway`` suite."""
    return [files("uqbench_highway") / "suites" / "highway.toml"]


@hookimpl
def uqbench_figures(board: StoredBoard) -> Iterable[Figure]:
    """Table 1, measured and published."""
    if board.suite != "highway":
        return []
    from uqbench_highway.figures import table_1  # imports Altair

    return table_1(board)
