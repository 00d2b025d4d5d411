"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, DatasetSpec, EnvironmentSpec, EstimatorSpec, Spec, hookimpl


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """SENTINEL-K, and baselines on CartPole."""
    return [
        AgentSpec(
            name="sentinel-k",
            title="SENTINEL-K",
            version="1",
            factory="uqbench_sentinel.agent:Sentinel",
            config="uqbench_sentinel.config:SentinelConfig",
        ),
        AgentSpec(
            name="cartpole-push-to-the-fall",
            version="2",
            factory="uqbench_sentinel.cartpole_agents:PushToTheFall",
            config="uqbench_sentinel.cartpole_agents:CartPoleScriptConfig",
            role="trivial",
        ),
        AgentSpec(
            name="cartpole-lqr",
            version="2",
            factory="uqbench_sentinel.cartpole_agents:LinearQuadratic",
            config="uqbench_sentinel.cartpole_agents:CartPoleScriptConfig",
            role="oracle",
        ),
    ]


@hookimpl
def uqbench_claim_kinds() -> Iterable[Spec]:
    """``trend``, in which the paper's figures are stated."""
    return [Spec(name="trend", version="1", factory="uqbench_sentinel.trend:Trend")]


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """CartPole-v0, and the three-state process."""
    return [
        EnvironmentSpec(
            name="cartpole",
            version="1",
            factory="uqbench_sentinel.cartpole:CartPoleLanes",
            config="uqbench_sentinel.cartpole:CartPoleConfig",
            events=("falls",),
            lanes=True,
            queries="uqbench_sentinel.cartpole_queries:query_states",
        ),
        EnvironmentSpec(
            name="three-states",
            version="1",
            factory="uqbench_sentinel.three_states:ThreeStates",
            config="uqbench_sentinel.three_states:ThreeStatesConfig",
            lanes=True,
            optimal_q="uqbench_sentinel.three_states:return_distributions",
        ),
    ]


@hookimpl
def uqbench_datasets() -> Iterable[DatasetSpec]:
    """Beliefs with a known risk."""
    return [
        DatasetSpec(
            name="belief",
            version="1",
            factory="uqbench_sentinel.estimation.beliefs:Beliefs",
            config="uqbench_sentinel.estimation.beliefs:BeliefConfig",
            scores=("abs_error", "error", "margin", "nearest_weight", "stated", "total"),
        )
    ]


@hookimpl
def uqbench_estimators() -> Iterable[EstimatorSpec]:
    """Composite risk."""
    return [
        EstimatorSpec(
            name="composite-risk",
            title="Composite risk",
            version="1",
            factory="uqbench_sentinel.estimation.composite:CompositeRiskEstimator",
            config="uqbench_sentinel.estimation.composite:CompositeRiskConfig",
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The paper's experiments, and SENTINEL-4 on ``minatar``."""
    suites = files("uqbench_sentinel") / "suites"
    return [
        suites / f"{name}.toml"
        for name in (
            "cartpole",
            "highway",
            "minatar",
            "noise-and-ignorance",
            "profile",
            "return-distribution",
            "risk-estimation",
        )
    ]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    return {
        "dataset belief": {
            "dataset-apart": "the input is the belief whose risk is asked for: nothing is learned "
            "from it, and no target is held out",
            "dataset-differs": "examples 3 and 4 of the paper are one belief each: only example 1 "
            "draws one for each seed",
        },
        "estimator composite-risk": {
            "estimator-data": "its inputs are beliefs, given and not learned, whose risk it states",
        },
    }
