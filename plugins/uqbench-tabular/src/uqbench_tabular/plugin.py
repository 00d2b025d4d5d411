"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from uqbench import AgentSpec, EnvironmentSpec, hookimpl
from uqbench_tabular.environments.ground_truth import (
    drawn_optimal_truth,
    exact_truth,
    optimal_q,
    optimal_reward,
)

if TYPE_CHECKING:
    from uqbench.boards.stored import StoredBoard
    from uqbench.contract.figure import Figure
    from uqbench.suites.suite import Suite

SUITES = (
    "five-state",
    "deepsea",
    "widenarrow",
    "priormdp",
    "deepsea-deep",
    "ube-terms",
    "priormdp-sbc",
    "drawn-worlds",
    "noise-and-ignorance",
)

ORACLES = {
    "chain": "ChainConfig",
    "deepsea": "DeepSeaConfig",
    "widenarrow": "WideNarrowConfig",
    "priormdp": "PriorMDPConfig",
}
"""Environments, and the configs that their oracles share with them."""


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """The paper's five agents, certainty equivalence, and the exact policies."""
    return [
        AgentSpec(
            name="psrl",
            title="PSRL",
            version="2",
            factory="uqbench_tabular.agents.psrl:PSRL",
            config="uqbench_tabular.agents.config:ModelBasedConfig",
            actors=False,
            calibrated=True,
        ),
        AgentSpec(
            name="ube",
            title="UBE",
            version="2",
            factory="uqbench_tabular.agents.ube:UBE",
            config="uqbench_tabular.agents.config:UBEConfig",
            actors=False,
        ),
        AgentSpec(
            name="ube-terms",
            title="UBE",
            version="1",
            factory="uqbench_tabular.agents.ube:UBETerms",
            config="uqbench_tabular.agents.config:UBEConfig",
            actors=False,
        ),
        AgentSpec(
            name="moment-matching",
            title="Moment matching",
            version="2",
            factory="uqbench_tabular.agents.moment_matching:MomentMatching",
            config="uqbench_tabular.agents.config:MomentMatchingConfig",
            actors=False,
        ),
        AgentSpec(
            name="bql",
            title="BQL",
            version="1",
            factory="uqbench_tabular.agents.bql:BayesianQLearning",
            config="uqbench_tabular.agents.config:BQLConfig",
            actors=False,
            calibrated=True,
        ),
        AgentSpec(
            name="q-learning",
            title="Q-learning",
            version="1",
            factory="uqbench_tabular.agents.q_learning:QLearning",
            config="uqbench_tabular.agents.config:QLearningConfig",
            actors=False,
        ),
        AgentSpec(
            name="held-action",
            title="Held action",
            version="1",
            factory="uqbench_tabular.agents.held_action:HeldAction",
            config="uqbench_tabular.agents.config:HeldActionConfig",
            role="trivial",
        ),
        AgentSpec(
            name="certainty-equivalence",
            title="Certainty equivalence",
            version="1",
            factory="uqbench_tabular.agents.certainty_equivalence:CertaintyEquivalence",
            config="uqbench_tabular.agents.config:CertaintyEquivalenceConfig",
            actors=False,
        ),
        AgentSpec(
            name="gaussian-posterior",
            title="Exact posterior",
            version="1",
            factory="uqbench_tabular.agents.gaussian_posterior:GaussianPosterior",
            config="uqbench_tabular.environments.config:GaussianValuesConfig",
            role="oracle",
            actors=False,
        ),
        AgentSpec(
            name="gaussian-draws",
            title="Draws from the exact posterior",
            version="1",
            factory="uqbench_tabular.agents.gaussian_posterior:GaussianDraws",
            config="uqbench_tabular.agents.config:GaussianDrawsConfig",
            role="oracle",
            actors=False,
        ),
        *(
            AgentSpec(
                name=name,
                title=title,
                version="1",
                factory=f"uqbench_tabular.agents.gaussian_controls:{kind}",
                config="uqbench_tabular.environments.config:GaussianValuesConfig",
                role="trivial",
                actors=False,
            )
            for name, title, kind in (
                ("gaussian-prior", "The prior", "GaussianPrior"),
                ("one-doubt", "One doubt for all pairs", "OneDoubt"),
                ("noise-alone", "Doubt by noise alone", "NoiseAlone"),
                ("data-alone", "Doubt by data alone", "DataAlone"),
                ("noise-over-data", "Standard error of a mean", "NoiseOverData"),
            )
        ),
        *(_oracle(name, config) for name, config in ORACLES.items()),
    ]


def _oracle(environment: str, config: str) -> AgentSpec:
    """The exact policy of an environment."""
    return AgentSpec(
        name=f"{environment}-oracle",
        version="1",
        factory="uqbench_tabular.agents.oracle:Oracle",
        config=f"uqbench_tabular.environments.config:{config}",
        role="oracle",
    )


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The chain, the paper's three, MDPs drawn for every seed, worlds with known posteriors."""
    enumerated = partial(
        EnvironmentSpec,
        optimal_reward=optimal_reward,
        optimal_q=optimal_q,
        exact_truth=exact_truth,
    )
    return [
        enumerated(
            name="chain",
            version="1",
            factory="uqbench_tabular.environments.chain:Chain",
            config="uqbench_tabular.environments.config:ChainConfig",
            has_state_dict=True,
        ),
        enumerated(
            name="deepsea",
            version="1",
            factory="uqbench_tabular.environments.deep_sea:make_lanes",
            config="uqbench_tabular.environments.config:DeepSeaConfig",
            state_map="uqbench_tabular.environments.pictures:deep_sea_map",
            lanes=True,
            events=("regret",),
        ),
        enumerated(
            name="widenarrow",
            version="2",
            factory="uqbench_tabular.environments.wide_narrow:make_lanes",
            config="uqbench_tabular.environments.config:WideNarrowConfig",
            lanes=True,
            events=("regret",),
        ),
        enumerated(
            name="priormdp",
            version="1",
            factory="uqbench_tabular.environments.prior_mdp:make_lanes",
            config="uqbench_tabular.environments.config:PriorMDPConfig",
            lanes=True,
            events=("regret",),
        ),
        EnvironmentSpec(
            name="drawn-mdp",
            version="1",
            factory="uqbench_tabular.environments.prior_mdp:make_drawn_lanes",
            config="uqbench_tabular.environments.config:DrawnMDPConfig",
            lanes=True,
            events=("regret",),
            exact_truth=drawn_optimal_truth,
        ),
        EnvironmentSpec(
            name="gaussian-values",
            version="1",
            factory="uqbench_tabular.environments.gaussian_values:GaussianValues",
            config="uqbench_tabular.environments.config:GaussianValuesConfig",
            lanes=True,
            exact_truth="uqbench_tabular.environments.gaussian_values:exact_truth",
            sizes=("size",),
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The chain's suite, the paper's figures, a deeper DeepSea, and three about uncertainty."""
    return [files("uqbench_tabular") / "suites" / f"{name}.toml" for name in SUITES]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    noisy = ("deepsea", "drawn-mdp", "priormdp")
    regret = "the regret of a step is the best reward minus a random one: it may be negative"
    waits = {
        "its step refuses an ended episode at once: tables are solved on a CPU": (
            "bql",
            "q-learning",
        ),
        "policy iteration ends when nothing improves: tables are solved on a CPU": (
            "certainty-equivalence",
            "moment-matching",
            "ube",
            "ube-terms",
        ),
        "gamma variates are drawn by NumPy, on the host: tables are solved on a CPU": ("psrl",),
    }
    bound = "Q²_max is of the bound of rewards that the agent is told, and does not grow with them"
    scale = {name: {"uncertainty-scale": bound} for name in ("ube", "ube-terms")}
    alike = "all lanes are shown the same data, whatever their episodes: the posterior is of those"
    return {
        **{f"environment {name}": {"environment-events": regret} for name in noisy},
        "environment gaussian-values": {"environment-limit": alike},
        **{
            f"agent {name}": {"agent-waits": reason} | scale.get(name, {})
            for reason, names in waits.items()
            for name in names
        },
    }


@hookimpl
def uqbench_figures(board: StoredBoard, suite: Suite | None) -> Iterable[Figure]:
    """Measured regret against the published panels; the terms of UBE's local uncertainty."""
    if board.suite not in ("deepsea", "widenarrow", "priormdp", "ube-terms") or suite is None:
        return []
    from uqbench_tabular.figures import published_panels, terms_of_ube

    return terms_of_ube(board) if board.suite == "ube-terms" else published_panels(board, suite)
