"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, EnvironmentSpec, hookimpl
from uqbench_tabular.environments.ground_truth import optimal_q, optimal_reward

PAPER = "Markou & Rasmussen, Bayesian methods for efficient reinforcement learning"
SUITES = ("five-state", "deepsea", "widenarrow", "priormdp", "deepsea-deep")


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """The paper's five agents, and certainty equivalence."""
    return [
        AgentSpec(
            name="psrl",
            version="2",
            factory="uqbench_tabular.agents.psrl:PSRL",
            config="uqbench_tabular.agents.config:ModelBasedConfig",
            summary="posterior sampling: acts optimally in an MDP drawn from the posterior",
            source=f"Strens 2000; Osband et al. 2013; {PAPER}, Algorithm PSRL",
        ),
        AgentSpec(
            name="ube",
            version="1",
            factory="uqbench_tabular.agents.ube:UBE",
            config="uqbench_tabular.agents.config:UBEConfig",
            summary="uncertainty Bellman equation: Thompson noise from a bound of Q's variance",
            source=f"O'Donoghue et al. 2018; {PAPER}, Algorithm UBE",
        ),
        AgentSpec(
            name="moment-matching",
            version="1",
            factory="uqbench_tabular.agents.moment_matching:MomentMatching",
            config="uqbench_tabular.agents.config:MomentMatchingConfig",
            summary="Thompson noise from the epistemic variance of Q by moment matching",
            source=f"{PAPER}, Algorithm MM",
        ),
        AgentSpec(
            name="bql",
            version="1",
            factory="uqbench_tabular.agents.bql:BayesianQLearning",
            config="uqbench_tabular.agents.config:BQLConfig",
            summary="Bayesian Q-learning: a normal-gamma over the return of every (s, a)",
            source=f"Dearden et al. 1998; {PAPER}, Algorithm BQL",
        ),
        AgentSpec(
            name="q-learning",
            version="1",
            factory="uqbench_tabular.agents.q_learning:QLearning",
            config="uqbench_tabular.agents.config:QLearningConfig",
            summary="Q-learning with ε-greedy exploration",
            source=f"Watkins 1989; the baseline of {PAPER}",
        ),
        AgentSpec(
            name="certainty-equivalence",
            version="1",
            factory="uqbench_tabular.agents.certainty_equivalence:CertaintyEquivalence",
            config="uqbench_tabular.agents.config:CertaintyEquivalenceConfig",
            summary="acts ε-greedily in the posterior-mean MDP",
            source="the same model as PSRL, with undirected exploration",
        ),
    ]


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The five-state chain and the paper's three."""
    return [
        EnvironmentSpec(
            name="chain",
            version="1",
            factory="uqbench_tabular.environments.chain:Chain",
            config="uqbench_tabular.environments.config:ChainConfig",
            summary="five states, continuing; the far end pays most and is reached by persistence",
            source="Dearden et al. 1998; Strens 2000",
            optimal_reward=optimal_reward,
            optimal_q=optimal_q,
        ),
        EnvironmentSpec(
            name="deepsea",
            version="1",
            factory="uqbench_tabular.environments.deep_sea:make_lanes",
            config="uqbench_tabular.environments.config:DeepSeaConfig",
            summary="N states in a row, continuing; every step towards the reward costs a little",
            source=f"{PAPER}, DeepSea",
            lanes=True,
            events=("regret",),
            optimal_reward=optimal_reward,
            optimal_q=optimal_q,
        ),
        EnvironmentSpec(
            name="widenarrow",
            version="2",
            factory="uqbench_tabular.environments.wide_narrow:make_lanes",
            config="uqbench_tabular.environments.config:WideNarrowConfig",
            summary="a cycle of wide and narrow states, whose values are strongly correlated",
            source=f"{PAPER}, WideNarrow",
            lanes=True,
            events=("regret",),
            optimal_reward=optimal_reward,
            optimal_q=optimal_q,
        ),
        EnvironmentSpec(
            name="priormdp",
            version="1",
            factory="uqbench_tabular.environments.prior_mdp:make_lanes",
            config="uqbench_tabular.environments.config:PriorMDPConfig",
            summary="an MDP drawn from a Dirichlet and normal-gamma prior",
            source=f"{PAPER}, PriorMDP",
            lanes=True,
            events=("regret",),
            optimal_reward=optimal_reward,
            optimal_q=optimal_q,
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The chain's suite, the paper's figures, and a deeper DeepSea."""
    return [files("uqbench_tabular") / "suites" / f"{name}.toml" for name in SUITES]
