"""What this package adds to uqbench; JAX is imported where the agent is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    cpu_only = "JAX runs on the CPU here, another device is refused"
    return {"agent jax-randomized-prior-dqn": {"agent-device": cpu_only}}
