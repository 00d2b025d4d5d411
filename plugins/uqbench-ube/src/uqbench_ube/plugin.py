"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, EnvironmentSpec, hookimpl
from uqbench_ube.chain.process import best_return

PAPER = "O'Donoghue et al. 2018"


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The decision of Figure 1."""
    return [
        EnvironmentSpec(
            name="ube-chain",
            version="1",
            factory="uqbench_ube.chain.environment:ChainLanes",
            config="uqbench_ube.chain.process:ChainOptions",
            summary="one reward, or an endless chain of rewards; a step is an episode",
            source=f"{PAPER}, Figure 1",
            lanes=True,
            events=("regret",),
            optimal_return=best_return,
        )
    ]


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """The agents of Figure 2."""
    return [
        AgentSpec(
            name="decision-ube",
            version="1",
            factory="uqbench_ube.chain.agents:UBEDecider",
            config="uqbench_ube.chain.agents:UBEDecisionConfig",
            summary="Thompson sampling by the uncertainty Bellman equation, for ube-chain",
            source=f"{PAPER}, section 3.2",
        ),
        AgentSpec(
            name="decision-bonus",
            version="1",
            factory="uqbench_ube.chain.agents:BonusDecider",
            config="uqbench_ube.chain.agents:BonusDecisionConfig",
            summary="optimism by a bonus that shrinks with visits, for ube-chain",
            source=f"{PAPER}, section 3.2",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``ube-chain`` suite."""
    return [files("uqbench_ube") / "suites" / "ube-chain.toml"]
