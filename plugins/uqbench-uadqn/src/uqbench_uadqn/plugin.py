"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from uqbench import AgentSpec, DatasetSpec, EnvironmentSpec, Spec, hookimpl


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """UA-DQN."""
    return [
        AgentSpec(
            name="ua-dqn",
            version="3",
            factory="uqbench_uadqn.agent:UADQN",
            config="uqbench_uadqn.config:UADQNConfig",
            summary="uncertainty-aware DQN: Thompson noise on epistemic, penalty on aleatoric std",
            source="Clements et al. 2019, section 2.4",
        ),
    ]


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The windy cliff."""
    return [
        EnvironmentSpec(
            name="windy-cliff",
            version="1",
            lanes=True,
            factory="uqbench_uadqn.cliff.environment:WindyCliff",
            config="uqbench_uadqn.cliff.grid:CliffConfig",
            summary="a grid of 2 × 5: along a windy ledge to the goal, or around it",
            source="Clements et al. 2019, section 3.1",
            events=("falls", "safe_path"),
            optimal_return=_optimal_return,
        )
    ]


def _optimal_return(config: Any) -> float:
    from uqbench_uadqn.cliff.truth import optimal_return  # torch, which a listing does not need

    return optimal_return(config)


@hookimpl
def uqbench_datasets() -> Iterable[DatasetSpec]:
    """Regressions whose noise, or whose epistemic uncertainty, is known."""
    return [
        DatasetSpec(
            name="noisy-cosine",
            version="1",
            factory="uqbench_uadqn.regression.noisy_cosine:NoisyCosine",
            config="uqbench_uadqn.regression.config:NoisyCosineConfig",
            summary="two clusters of noisy points of a cosine; the noise is known",
            source="Clements et al. 2019, Figure 1",
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
            summary="a function of wide networks' prior; the epistemic uncertainty is known",
            source="Clements et al. 2019, Appendix C; Williams 1997",
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
def uqbench_estimators() -> Iterable[Spec]:
    """Anchored networks."""
    return [
        Spec(
            name="anchored-quantiles",
            version="1",
            factory="uqbench_uadqn.regression.anchored:AnchoredQuantiles",
            config="uqbench_uadqn.regression.config:AnchoredQuantilesConfig",
            summary="anchored quantile networks: both uncertainties from pairs of them",
            source="Clements et al. 2019, section 2.3; Pearce et al. 2018",
        ),
        Spec(
            name="anchored-outputs",
            version="1",
            factory="uqbench_uadqn.regression.anchored:AnchoredOutputs",
            config="uqbench_uadqn.regression.config:AnchoredOutputsConfig",
            summary="the spread of anchored predictions, by one network or by an ensemble",
            source="Clements et al. 2019, Appendix C; Pearce et al. 2018",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """``windy-cliff``, ``uncertainty-toy``, ``output-width``, and UA-DQN in other suites."""
    suites = files("uqbench_uadqn") / "suites"
    names = ("windy-cliff", "uncertainty-toy", "output-width", "minatar", "highway")
    return [suites / f"{name}.toml" for name in names]
