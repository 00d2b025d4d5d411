"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from uqbench import AgentSpec, EnvironmentSpec, hookimpl
from uqbench_ube.chain.config import best_return

if TYPE_CHECKING:
    from uqbench.boards.stored import StoredBoard
    from uqbench.contract.figure import Figure

SUITES = (
    "ube-chain",
    "minatar",
    "atari",
    "noise-and-ignorance",
    "profile",
    "exploration",
    "features",
    "offline-values",
)


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The decision of Figure 1."""
    return [
        EnvironmentSpec(
            name="ube-chain",
            version="1",
            factory="uqbench_ube.chain.environment:ChainLanes",
            config="uqbench_ube.chain.config:ChainConfig",
            lanes=True,
            events=("regret",),
            optimal_return=best_return,
        )
    ]


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """The agents of Figure 2 with the better choice, and those of section 5."""
    return [
        AgentSpec(
            name="decision-ube",
            title="UBE",
            version="1",
            factory="uqbench_ube.chain.agents:UBEDecider",
            config="uqbench_ube.chain.agents:UBEDecisionConfig",
            actors=False,
        ),
        AgentSpec(
            name="decision-bonus",
            title="Visit bonus",
            version="1",
            factory="uqbench_ube.chain.agents:BonusDecider",
            config="uqbench_ube.chain.agents:BonusDecisionConfig",
            actors=False,
        ),
        AgentSpec(
            name="decision-oracle",
            version="1",
            factory="uqbench.registry.builtin.trivial:ConstantAction",
            config="uqbench.registry.builtin.trivial:ConstantActionConfig",
            summary="always the action that it is told, which is the better one",
            role="oracle",
        ),
        AgentSpec(
            name="ube-dqn",
            title="UBE-DQN",
            version="1",
            factory="uqbench_ube.deep.ube_dqn:UBEDQN",
            config="uqbench_ube.deep.config:UBEDQNConfig",
        ),
        AgentSpec(
            name="dqn-intrinsic",
            title="DQN with a bonus",
            version="1",
            factory="uqbench_ube.deep.intrinsic:IntrinsicDQN",
            config="uqbench_ube.deep.config:IntrinsicDQNConfig",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``ube-chain`` suite, and the deep agents in other suites."""
    suites = files("uqbench_ube") / "suites"
    return [suites / f"{name}.toml" for name in SUITES]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    counted = (
        "the local uncertainty counts visits, 1 / n, whatever the rewards are: its scale is the "
        "setting β (O'Donoghue et al. 2018, section 4)"
    )
    return {
        "agent decision-ube": {"uncertainty-scale": counted},
        "agent decision-bonus": {
            "agent-seeds": "optimism without any randomness: in the same world every seed acts "
            "the same"
        },
        "agent ube-dqn": {
            "uncertainty-scale": counted,
        },
    }


@hookimpl
def uqbench_figures(board: StoredBoard) -> Iterable[Figure]:
    """Figure 2."""
    if board.suite != "ube-chain":
        return []
    from uqbench_ube.figures import regret_by_beta  # imports Altair

    return regret_by_beta(board)
