"""What this package adds to uqbench; JAX is imported where the agent is run."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, hookimpl


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """The prior ensemble."""
    return [
        AgentSpec(
            name="jax-randomized-prior-dqn",
            version="1",
            factory="uqbench_jax.randomized_prior:RandomizedPriorDQN",
            config="uqbench_jax.config:RandomizedPriorConfig",
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The prior ensemble in the suite ``profile``."""
    return [files("uqbench_jax") / "suites" / "profile.toml"]
