"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, hookimpl


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """UA-DQN."""
    return [
        AgentSpec(
            name="ua-dqn",
            version="2",
            factory="uqbench_uadqn.agent:UADQN",
            config="uqbench_uadqn.config:UADQNConfig",
            summary="uncertainty-aware DQN: Thompson noise on epistemic, penalty on aleatoric std",
            source="Clements et al. 2019, section 2.4",
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """UA-DQN in the ``minatar`` suite."""
    return [files("uqbench_uadqn") / "suites" / "minatar.toml"]
