"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, DatasetSpec, Spec, hookimpl

PAPER = "Schweighofer et al. 2023"
DETECTION = ("auroc", "aupr", "fpr95", "retention_auc")


@hookimpl
def uqbench_datasets() -> Iterable[DatasetSpec]:
    """The problems of the paper, and one on real images that needs no download."""
    return [
        DatasetSpec(
            name="two-moons",
            version="2",
            factory="uqbench_quam.problems.two_moons:TwoMoons",
            config="uqbench_quam.problems.two_moons:TwoMoonsConfig",
            summary="two interleaving half circles; epistemic uncertainty against HMC's",
            source=f"{PAPER}, Figures 3 and C.3",
            scores=("rank_correlation", "mae", "corner_mae", "accuracy", "nll"),
        ),
        DatasetSpec(
            name="simplex",
            version="1",
            factory="uqbench_quam.problems.simplex:Simplex",
            config="uqbench_quam.problems.simplex:SimplexConfig",
            summary="three normal classes; which of them models can assign to a far point",
            source=f"{PAPER}, Figures 2 and C.2",
            scores=("remote_highest", "remote", "epistemic_error", "total_variation"),
        ),
        DatasetSpec(
            name="sine",
            version="1",
            factory="uqbench_quam.problems.sine:Sine",
            config="uqbench_quam.problems.sine:SineConfig",
            summary="regression of a sine; standard deviation between models against HMC's",
            source=f"{PAPER}, Figure C.4",
            scores=("std_mae", "outside_std_mae", "rank_correlation", "rmse"),
        ),
        DatasetSpec(
            name="ood-digits",
            version="1",
            factory="uqbench_quam.problems.digits:Digits",
            config="uqbench_quam.problems.digits:DigitsConfig",
            summary="8 × 8 digits: out-of-distribution inputs, errors, selective prediction",
            source=f"after {PAPER}, section 4.2",
            scores=DETECTION,
        ),
        DatasetSpec(
            name="ood-mnist",
            version="1",
            factory="uqbench_quam.problems.mnist:MNIST",
            config="uqbench_quam.problems.mnist:MNISTConfig",
            summary="MNIST against other data sets; reads files from the folder UQBENCH_DATA",
            source=f"{PAPER}, Table 1",
            scores=DETECTION,
        ),
        DatasetSpec(
            name="ood-imagenet",
            version="1",
            factory="uqbench_quam.problems.imagenet:ImageNet",
            config="uqbench_quam.problems.imagenet:ImageNetConfig",
            summary="ImageNet-1K by the last layer; reads the file of features UQBENCH_IMAGENET",
            source=f"{PAPER}, Table 2",
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
            config="uqbench_quam.agents.quam_dqn:QuamDQNConfig",
            summary="explores by adversarial models of its Q-network (this project's extension)",
            source=f"this project, after {PAPER}",
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
            summary="adversarial models of every test point",
            source=PAPER,
        ),
        Spec(
            name="deep-ensemble",
            version="3",
            factory="uqbench_quam.baselines.deep_ensemble:DeepEnsemble",
            config="uqbench_quam.baselines.deep_ensemble:DeepEnsembleConfig",
            summary="independently trained networks",
            source="Lakshminarayanan et al. 2017",
        ),
        Spec(
            name="mc-dropout",
            version="1",
            factory="uqbench_quam.baselines.mc_dropout:MCDropout",
            config="uqbench_quam.baselines.mc_dropout:MCDropoutConfig",
            summary="forward passes with units dropped",
            source="Gal & Ghahramani 2016",
        ),
        Spec(
            name="laplace",
            version="1",
            factory="uqbench_quam.baselines.laplace:Laplace",
            config="uqbench_quam.baselines.laplace:LaplaceConfig",
            summary="a normal over the last layer's weights, Kronecker-factored",
            source="Daxberger et al. 2021",
        ),
        Spec(
            name="csg-hmc",
            version="1",
            factory="uqbench_quam.baselines.csg_hmc:CyclicalSGHMC",
            config="uqbench_quam.baselines.csg_hmc:CyclicalSGHMCConfig",
            summary="cyclical stochastic gradient Hamiltonian Monte Carlo",
            source="Zhang et al. 2020",
        ),
        Spec(
            name="hmc",
            version="1",
            factory="uqbench_quam.baselines.hmc:HMC",
            config="uqbench_quam.baselines.hmc:HMCConfig",
            summary="Hamiltonian Monte Carlo with all data; ground truth of small problems",
            source="Neal 1996",
        ),
        Spec(
            name="reference-entropy",
            version="1",
            factory="uqbench_quam.baselines.reference_entropy:ReferenceEntropy",
            config="uqbench_quam.baselines.reference_entropy:ReferenceEntropyConfig",
            summary="the reference model's entropy in place of an epistemic uncertainty",
            source=f"{PAPER}, Tables 1 and 2, column Reference",
        ),
        Spec(
            name="further-networks",
            version="1",
            factory="uqbench_quam.baselines.further_networks:FurtherNetworks",
            config="uqbench_quam.baselines.further_networks:FurtherNetworksConfig",
            summary="an ensemble of networks that were trained elsewhere, by their logits",
            source=f"{PAPER}, Table 2, column DE (all)",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """One suite per problem, and QUAM-DQN for the suite ``minatar``."""
    names = ("two-moons", "simplex", "sine", "ood-digits", "ood-mnist", "ood-imagenet", "minatar")
    return [files("uqbench_quam") / "suites" / f"{name}.toml" for name in names]
