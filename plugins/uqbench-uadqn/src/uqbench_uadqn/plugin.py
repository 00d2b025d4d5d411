"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from uqbench import AgentSpec, DatasetSpec, EnvironmentSpec, EstimatorSpec, hookimpl

if TYPE_CHECKING:
    from uqbench.boards.stored import StoredBoard
    from uqbench.contract.figure import Figure


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """UA-DQN, and a script for the windy cliff."""
    return [
        AgentSpec(
            name="ua-dqn",
            title="UA-DQN",
            version="4",
            factory="uqbench_uadqn.agent:UADQN",
            config="uqbench_uadqn.config:UADQNConfig",
        ),
        AgentSpec(
            name="windy-cliff-script",
            version="1",
            factory="uqbench_uadqn.cliff.script:CliffScript",
            config="uqbench_uadqn.cliff.config:CliffScriptConfig",
            role="oracle",
        ),
    ]


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The windy cliff."""
    return [
        EnvironmentSpec(
            name="windy-cliff",
            version="2",
            lanes=True,
            factory="uqbench_uadqn.cliff.environment:WindyCliff",
            config="uqbench_uadqn.cliff.config:CliffConfig",
            events=("falls", "safe_path", "risky_path"),
            state_map="uqbench_uadqn.cliff.pictures:state_map",
            optimal_return="uqbench_uadqn.cliff.truth:optimal_return",
            optimal_q="uqbench_uadqn.cliff.ground_truth:optimal_q",
            exact_truth="uqbench_uadqn.cliff.policy_truth:exact_truth",
        )
    ]


@hookimpl
def uqbench_datasets() -> Iterable[DatasetSpec]:
    """Regressions whose noise, or whose epistemic uncertainty, is known."""
    return [
        DatasetSpec(
            name="noisy-cosine",
            version="1",
            factory="uqbench_uadqn.regression.noisy_cosine:NoisyCosine",
            config="uqbench_uadqn.regression.config:NoisyCosineConfig",
            scores=(
                "aleatoric_error",
                "aleatoric_off",
                "aleatoric_on",
                "epistemic_off",
                "epistemic_on",
                "off_data_auroc",
            ),
        ),
        DatasetSpec(
            name="prior-function",
            version="1",
            factory="uqbench_uadqn.regression.prior_function:PriorFunction",
            config="uqbench_uadqn.regression.config:PriorFunctionConfig",
            scores=(
                "epistemic_off",
                "epistemic_on",
                "off_data_auroc",
                "off_data_log_error",
                "off_data_ratio",
                "on_data_ratio",
            ),
        ),
    ]


@hookimpl
def uqbench_estimators() -> Iterable[EstimatorSpec]:
    """Anchored networks, and a baseline without any."""
    return [
        EstimatorSpec(
            name="anchored-quantiles",
            title="Anchored quantiles",
            version="1",
            factory="uqbench_uadqn.regression.anchored:AnchoredQuantiles",
            config="uqbench_uadqn.regression.config:AnchoredQuantilesConfig",
        ),
        EstimatorSpec(
            name="anchored-outputs",
            title="Anchored outputs",
            version="1",
            factory="uqbench_uadqn.regression.anchored:AnchoredOutputs",
            config="uqbench_uadqn.regression.config:AnchoredOutputsConfig",
        ),
        EstimatorSpec(
            name="differences",
            title="Differences",
            version="1",
            factory="uqbench_uadqn.regression.differences:Differences",
            config="uqbench_uadqn.regression.differences:DifferencesConfig",
            role="trivial",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """``windy-cliff``, ``uncertainty-toy``, ``output-width``, and UA-DQN in other suites."""
    suites = files("uqbench_uadqn") / "suites"
    names = (
        "windy-cliff",
        "uncertainty-toy",
        "output-width",
        "minatar",
        "highway",
        "noise-and-ignorance",
        "profile",
        "features",
    )
    return [suites / f"{name}.toml" for name in names]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    reason = (
        "the uncertainty at the data is asked about where the data are, and no target is scored"
    )
    scale = (
        "the anchors' prior and the noise of the data are settings in units of return: rewards "
        "that are larger are data of less noise"
    )
    width = (
        "anchors are drawn from a prior of one width, and 500 steps do not learn targets that are "
        "ten times as large"
    )
    return {
        "dataset prior-function": {"dataset-apart": reason},
        "estimator anchored-outputs": {"estimator-scale": width},
        "estimator anchored-quantiles": {"estimator-scale": width},
        "agent ua-dqn": {"uncertainty-scale": scale},
    }


@hookimpl
def uqbench_figures(board: StoredBoard) -> Iterable[Figure]:
    """Aleatoric and epistemic uncertainty, on data and off data."""
    if board.suite != "uncertainty-toy":
        return []
    from uqbench_uadqn.figures import disentangled  # imports Altair

    return disentangled(board)
