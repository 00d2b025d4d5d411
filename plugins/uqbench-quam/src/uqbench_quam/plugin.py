"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, DatasetSpec, Spec, hookimpl

DETECTION = ("auroc", "aupr", "fpr95", "retention_auc")
SINE = ("std_mae", "outside_std_mae", "rank_correlation")


@hookimpl
def uqbench_datasets() -> Iterable[DatasetSpec]:
    """The problems of the paper, and one on real images that needs no download."""
    return [
        DatasetSpec(
            name="two-moons",
            version="3",
            factory="uqbench_quam.problems.two_moons:TwoMoons",
            config="uqbench_quam.problems.two_moons:TwoMoonsConfig",
            scores=("rank_correlation", "mae", "corner_mae", "accuracy", "nll"),
        ),
        DatasetSpec(
            name="simplex",
            version="2",
            factory="uqbench_quam.problems.simplex:Simplex",
            config="uqbench_quam.problems.simplex:SimplexConfig",
            scores=("remote_highest", "remote", "epistemic_error", "total_variation"),
        ),
        DatasetSpec(
            name="sine",
            version="2",
            factory="uqbench_quam.problems.sine:Sine",
            config="uqbench_quam.problems.sine:SineConfig",
            scores=(
                *SINE,
                *(f"paper_prior_{name}" for name in SINE),
                "outside_std",
                "rmse",
            ),
        ),
        DatasetSpec(
            name="ood-digits",
            version="1",
            factory="uqbench_quam.problems.digits:Digits",
            config="uqbench_quam.problems.digits:DigitsConfig",
            scores=DETECTION,
        ),
        DatasetSpec(
            name="ood-mnist",
            version="1",
            factory="uqbench_quam.problems.mnist:MNIST",
            config="uqbench_quam.problems.mnist:MNISTConfig",
            scores=DETECTION,
        ),
        DatasetSpec(
            name="ood-fashion",
            version="1",
            factory="uqbench_quam.problems.fashion:Fashion",
            config="uqbench_quam.problems.fashion:FashionConfig",
            scores=DETECTION,
        ),
        DatasetSpec(
            name="ood-imagenet",
            version="1",
            factory="uqbench_quam.problems.imagenet:ImageNet",
            config="uqbench_quam.problems.imagenet:ImageNetConfig",
            scores=DETECTION,
        ),
    ]


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """QUAM as exploration."""
    return [
        AgentSpec(
            name="quam-dqn",
            version="1",
            factory="uqbench_quam.agents.quam_dqn:QuamDQN",
            config="uqbench_quam.agents.config:QuamDQNConfig",
        )
    ]


@hookimpl
def uqbench_estimators() -> Iterable[Spec]:
    """QUAM, and what it is compared with."""
    return [
        Spec(
            name="quam",
            version="1",
            factory="uqbench_quam.methods.quam:Quam",
            config="uqbench_quam.methods.config:QuamConfig",
        ),
        Spec(
            name="deep-ensemble",
            version="3",
            factory="uqbench_quam.baselines.deep_ensemble:DeepEnsemble",
            config="uqbench_quam.baselines.deep_ensemble:DeepEnsembleConfig",
        ),
        Spec(
            name="mc-dropout",
            version="1",
            factory="uqbench_quam.baselines.mc_dropout:MCDropout",
            config="uqbench_quam.baselines.mc_dropout:MCDropoutConfig",
        ),
        Spec(
            name="laplace",
            version="1",
            factory="uqbench_quam.baselines.laplace:Laplace",
            config="uqbench_quam.baselines.laplace:LaplaceConfig",
        ),
        Spec(
            name="csg-hmc",
            version="1",
            factory="uqbench_quam.baselines.csg_hmc:CyclicalSGHMC",
            config="uqbench_quam.baselines.csg_hmc:CyclicalSGHMCConfig",
        ),
        Spec(
            name="hmc",
            version="1",
            factory="uqbench_quam.baselines.hmc:HMC",
            config="uqbench_quam.baselines.hmc:HMCConfig",
        ),
        Spec(
            name="reference-entropy",
            version="1",
            factory="uqbench_quam.baselines.reference_entropy:ReferenceEntropy",
            config="uqbench_quam.baselines.reference_entropy:ReferenceEntropyConfig",
        ),
        Spec(
            name="further-networks",
            version="1",
            factory="uqbench_quam.baselines.further_networks:FurtherNetworks",
            config="uqbench_quam.baselines.further_networks:FurtherNetworksConfig",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """One suite per problem, and QUAM-DQN for ``minatar`` and ``noise-and-ignorance``."""
    own = ("two-moons", "simplex", "sine", "ood-digits", "ood-mnist", "ood-imagenet")
    extended = ("minatar", "noise-and-ignorance", "profile")
    return [files("uqbench_quam") / "suites" / f"{name}.toml" for name in (*own, *extended)]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    reason = "search_steps are gradient steps of a search, which no budget shortens"
    return {"agent quam-dqn": {"agent-steps": reason}}
