"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, hookimpl


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """DQN and QRDQN, each with the version of its library."""

    def library(name: str, factory: str, package: str) -> AgentSpec:
        return AgentSpec(
            name=name,
            version=f"1+{package}{version(package)}",
            factory=f"uqbench_sb3.agent:{factory}",
            config="uqbench_sb3.config:SB3Config",
            loop=True,
            vector=True,
        )

    return [
        library("sb3-dqn", "DQN", "stable-baselines3"),
        library("sb3-qr-dqn", "QRDQN", "sb3-contrib"),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The libraries' agents in the ``minatar`` suite."""
    return [files("uqbench_sb3") / "suites" / "minatar.toml"]
