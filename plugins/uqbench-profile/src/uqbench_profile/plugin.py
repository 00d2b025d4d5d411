"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, EnvironmentSpec, hookimpl


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """A sea to explore."""
    return [
        EnvironmentSpec(
            name="deep-sea",
            version="1",
            factory="uqbench_profile.deep_sea:DeepSea",
            config="uqbench_profile.config:DeepSeaConfig",
            lanes=True,
            events=("goals", "exploration"),
        )
    ]


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """Who knows more than a method may."""
    return [
        AgentSpec(
            name="deep-sea-psrl",
            version="1",
            factory="uqbench_profile.psrl:DeepSeaPSRL",
            config="uqbench_profile.config:DeepSeaConfig",
            role="oracle",
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The suite ``profile``."""
    return [files("uqbench_profile") / "suites" / "profile.toml"]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    last = "the last observation shows where the dive ended, which is how it learns the last cell"
    return {"agent deep-sea-psrl": {"agent-terminal": last}}
