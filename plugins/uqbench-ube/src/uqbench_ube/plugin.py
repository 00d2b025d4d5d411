"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, EnvironmentSpec, hookimpl
from uqbench_ube.chain.config import best_return

PAPER = "O'Donoghue et al. 2018"


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The decision of Figure 1."""
    return [
        EnvironmentSpec(
            name="ube-chain",
            version="1",
            factory="uqbench_ube.chain.environment:ChainLanes",
            config="uqbench_ube.chain.config:ChainConfig",
            summary="one reward, or an endless chain of rewards; a step is an episode",
            source=f"{PAPER}, Figure 1",
            lanes=True,
            events=("regret",),
            optimal_return=best_return,
        )
    ]


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """The agents of Figure 2, and those of section 5."""
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
        AgentSpec(
            name="ube-dqn",
            version="1",
            factory="uqbench_ube.deep.ube_dqn:UBEDQN",
            config="uqbench_ube.deep.config:UBEDQNConfig",
            summary="DQN with Thompson sampling by learned uncertainties of its values",
            source=f"{PAPER}, Algorithm 1",
        ),
        AgentSpec(
            name="dqn-intrinsic",
            version="1",
            factory="uqbench_ube.deep.intrinsic:IntrinsicDQN",
            config="uqbench_ube.deep.config:IntrinsicDQNConfig",
            summary="DQN, ε-greedy, with an exploration bonus in its rewards",
            source=f"{PAPER}, section 5.1",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``ube-chain`` suite, and the deep agents in ``minatar`` and ``atari``."""
    suites = files("uqbench_ube") / "suites"
    return [suites / f"{name}.toml" for name in ("ube-chain", "minatar", "atari")]
