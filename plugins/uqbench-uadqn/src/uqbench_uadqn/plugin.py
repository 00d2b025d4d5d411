"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from uqbench import AgentSpec, EnvironmentSpec, hookimpl


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """UA-DQN."""
    return [
        AgentSpec(
            name="ua-dqn",
            version="3",
            factory="uqbench_uadqn.agent:UADQN",
            config="uqbench_uadqn.config:UADQNConfig",
            summary="uncertainty-aware DQN: Thompson noise on epistemic, penalty on aleatoric std",
            source="Clements et al. 2019, section 2.4",
        )
    ]


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The windy cliff."""
    return [
        EnvironmentSpec(
            name="windy-cliff",
            version="1",
            lanes=True,
            factory="uqbench_uadqn.cliff.environment:WindyCliff",
            config="uqbench_uadqn.cliff.grid:CliffOptions",
            summary="a grid of 2 × 5: along a windy ledge to the goal, or around it",
            source="Clements et al. 2019, section 3.1",
            events=("falls", "safe_path"),
            optimal_return=_optimal_return,
        )
    ]


def _optimal_return(options: Any) -> float:
    from uqbench_uadqn.cliff.truth import optimal_return  # torch, which a listing does not need

    return optimal_return(options)


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``windy-cliff`` suite, and UA-DQN in the ``minatar`` suite."""
    suites = files("uqbench_uadqn") / "suites"
    return [suites / "windy-cliff.toml", suites / "minatar.toml"]
