"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from uqbench import AgentSpec, EstimatorSpec, hookimpl

if TYPE_CHECKING:
    from uqbench.boards.stored import StoredBoard
    from uqbench.contract.figure import Figure


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """QUAM as exploration."""
    return [
        AgentSpec(
            name="quam-dqn",
            title="QUAM-DQN",
            version="1",
            factory="uqbench_quam.agents.quam_dqn:QuamDQN",
            config="uqbench_quam.agents.config:QuamDQNConfig",
        )
    ]


@hookimpl
def uqbench_estimators() -> Iterable[EstimatorSpec]:
    """QUAM."""
    return [
        EstimatorSpec(
            name="quam",
            title="QUAM",
            version="1",
            factory="uqbench_quam.methods.quam:Quam",
            config="uqbench_quam.methods.config:QuamConfig",
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The paper's problems, and QUAM and QUAM-DQN in other suites."""
    own = ("two-moons", "simplex", "sine", "few-digits", "ood-digits", "ood-mnist", "ood-imagenet")
    extended = ("fashion", "frozen", "minatar", "noise-and-ignorance", "offline-values", "profile")
    return [files("uqbench_quam") / "suites" / f"{name}.toml" for name in (*own, *extended)]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    reason = "search_steps are gradient steps of a search, which no budget shortens"
    return {"agent quam-dqn": {"agent-steps": reason}}


@hookimpl
def uqbench_figures(board: StoredBoard) -> Iterable[Figure]:
    """Detection by forward passes."""
    if board.suite != "ood-digits":
        return []
    from uqbench_quam.figures import auroc_by_passes

    return auroc_by_passes(board)
