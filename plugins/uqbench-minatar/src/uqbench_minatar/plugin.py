"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, EnvironmentSpec, Spec, hookimpl


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The five games, as one environment with the game as an option, and logged play of them."""
    return [
        EnvironmentSpec(
            name="minatar",
            version=f"1+minatar{version('minatar')}",
            lanes=True,
            factory="uqbench_minatar.environment:make",
            config="uqbench_minatar.config:GameConfig",
            queries="uqbench_minatar.queries:query_states",
            side_by_side="uqbench_minatar.environment:side_by_side",
        ),
        EnvironmentSpec(
            name="minatar-offline",
            version="1",
            lanes=True,
            factory="uqbench_minatar.offline.lanes:OfflineGame",
            config="uqbench_minatar.config:OfflineConfig",
            exact_truth="uqbench_minatar.offline.truth:exact_truth",
        ),
    ]


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """Scripts: baselines."""
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
    """The suites ``minatar`` and ``offline-minatar``."""
    suites = files("uqbench_minatar") / "suites"
    return [suites / f"{name}.toml" for name in ("minatar", "offline-minatar")]


@hookimpl
def uqbench_board_tables() -> Iterable[Spec]:
    """Returns by game, beside the published ones."""
    return [Spec(name="returns", version="1", factory="uqbench_minatar.returns:Returns")]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    cut = "each logged step is an episode of its own, cut after one step whatever the limit"
    return {"environment minatar-offline": {"environment-limit": cut}}
