"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal

from uqbench import DatasetSpec, EstimatorSpec, ScoreSpec, Spec, hookimpl
from uqbench.contract.specs import KINDS

SCORES: dict[str, tuple[Literal["max", "min"], str]] = {
    "nll": ("min", "negative log-likelihood of the targets, nats"),
    "brier": ("min", "Brier score: squared error of the class probabilities"),
    "accuracy": ("max", "share of points whose most probable class is theirs"),
    "ece": (
        "min",
        "calibration error of the most probable class, 15 bins of equal mass; above 0 "
        "of a calibrated method, too, by about √(30 v/(π n)), v the mean of c (1 − c)",
    ),
    "aurc": ("min", "area under the risk over the share of most certain points"),
    "coverage_90": ("max", "share of targets in 90 % prediction sets"),
    "width_90": ("min", "size of 90 % prediction sets: classes, or width of the interval"),
    "joint_nll": ("min", "negative log-likelihood of ten points together, over ten, nats"),
    "rmse": ("min", "root of the mean squared error of the mean"),
    "crps": ("min", "continuous ranked probability score of a normal"),
    "brier_or_crps": ("min", "Brier score of classes, CRPS of values"),
    "interval_score_90": ("min", "interval score of the 90 % interval"),
    "auroc": (
        "max",
        "area under the ROC curve for telling other inputs from test inputs: by a detector's "
        "score, else by the largest probability",
    ),
    **{
        f"{outside}_{order}": ("max", f"AUROC for telling {what} from test inputs, by {by}")
        for outside, what in (
            ("near", "classes of the same data that were held out"),
            ("far", "inputs of other data"),
            ("rotated", "test inputs by a quarter turn"),
            ("inverted", "test inputs with black for white"),
        )
        for order, by in (
            ("msp", "the largest probability"),
            ("entropy", "the entropy of the probabilities"),
            ("mi", "the mutual information of class and model"),
            ("energy", "the energy of the logits"),
            ("score", "a score of the row's own, as a detector's or a distance"),
        )
    },
    **{
        f"{outside}_{order}_gain": (
            "max",
            f"AUROC for telling {what} by {by}, less that by the "
            "largest probability of the same row",
        )
        for outside, what in (("near", "held-out classes"), ("far", "inputs of other data"))
        for order, by in (("energy", "the energy"), ("score", "the row's own score"))
    },
    "corrupted_nll": ("min", "negative log-likelihood on corrupted test inputs, nats"),
    "corrupted_ece": ("min", "calibration error on corrupted test inputs"),
    "shifted_nll": ("min", "negative log-likelihood, mean of five strengths of a shift, nats"),
    "shifted_ece": ("min", "calibration error, mean of five strengths of a shift"),
    "shifted_accuracy": ("max", "accuracy, mean of five strengths of a shift"),
    "nll_1": ("min", "negative log-likelihood at the first strength of a shift, nats"),
    "nll_2": ("min", "the same at the second strength"),
    "nll_3": ("min", "the same at the third strength"),
    "nll_4": ("min", "the same at the fourth strength"),
    "nll_5": ("min", "the same at the fifth strength"),
}
"""Direction and summary of each function of :mod:`uqbench_predictive.scores.registered`."""
SECOND = {
    "accuracy", "ece", "aurc", "coverage_90", "width_90", "joint_nll", "corrupted_ece",
    "shifted_ece", "shifted_accuracy", "auroc",
}  # fmt: skip
"""Scores of version 2: ties are in no order, joint likelihoods are of all models, and inputs are
ordered by the largest probability where a method is no detector."""
PROPER = {
    "nll", "brier", "accuracy", "joint_nll", "rmse", "crps", "corrupted_nll",
    "brier_or_crps", "interval_score_90",
    "shifted_nll", "shifted_accuracy", *(f"nll_{strength}" for strength in range(1, 6)),
}  # fmt: skip
SKILLS: dict[str, Literal["prediction", "order"]] = dict.fromkeys(PROPER, "prediction")
SKILLS["aurc"] = "order"
FOREIGN = ("auroc", "near_", "far_", "rotated_", "inverted_")
"""Scores of telling other inputs from test inputs."""
GROUPS = (
    "which ten points go together is the question, as in the testbed's groups around two inputs: "
    "points of one group may change places, and groups, but exchanging points between groups asks "
    "for another joint law, and a mean over all M!/(10!)^(M/10) groupings has no closed form"
)
OPTIONAL = ("energy", "score", "energy_gain", "score_gain")
"""Questions that not every row answers, and their gains."""
TOLD = "uqbench_predictive.scores.chance:told_by_"
DETECTION = ("auroc", "aupr", "fpr95", "retention_auc")
TIES_TOGETHER = dict.fromkeys(("aupr", "fpr95", "retention_auc"), "2")
SINE = ("std_mae", "outside_std_mae", "rank_correlation")


@hookimpl
def uqbench_datasets() -> Iterable[DatasetSpec]:
    """Synthetic problems whose truth is known, and out-of-distribution detection on images."""
    return [
        DatasetSpec(
            name="two-moons",
            version="3",
            factory="uqbench_predictive.problems.two_moons:TwoMoons",
            config="uqbench_predictive.problems.two_moons:TwoMoonsConfig",
            scores=("rank_correlation", "mae", "corner_mae", "accuracy", "nll"),
        ),
        DatasetSpec(
            name="simplex",
            version="2",
            factory="uqbench_predictive.problems.simplex:Simplex",
            config="uqbench_predictive.problems.simplex:SimplexConfig",
            scores=("remote_highest", "remote", "epistemic_error", "total_variation"),
        ),
        DatasetSpec(
            name="sine",
            version="2",
            factory="uqbench_predictive.problems.sine:Sine",
            config="uqbench_predictive.problems.sine:SineConfig",
            scores=(
                *SINE,
                *(f"paper_prior_{name}" for name in SINE),
                "outside_std",
                "rmse",
            ),
        ),
        DatasetSpec(
            name="real",
            version="2",
            factory="uqbench_predictive.problems.tables:Real",
            config="uqbench_predictive.problems.tables:RealConfig",
        ),
        DatasetSpec(
            name="table",
            version="1",
            factory="uqbench_predictive.problems.real_tables:RealTable",
            config="uqbench_predictive.problems.real_tables:RealTableConfig",
            kind="uqbench_predictive.problems.real_tables:kind_of",
        ),
        DatasetSpec(
            name="table-file",
            version="1",
            factory="uqbench_predictive.problems.table_file:TableFile",
            config="uqbench_predictive.problems.table_file:TableFileConfig",
            kind="uqbench_predictive.problems.table_file:kind_of",
        ),
        DatasetSpec(
            name="shifted-digits",
            version="2",
            factory="uqbench_predictive.problems.shifted:ShiftedDigits",
            config="uqbench_predictive.problems.shifted:ShiftedConfig",
        ),
        DatasetSpec(
            name="known-regression",
            version="2",  # pairs of inputs; methods are told the noise
            factory="uqbench_predictive.problems.known_regression:KnownRegression",
            config="uqbench_predictive.problems.known_regression:KnownRegressionConfig",
            scores=("kl", "joint_kl", "joint_kl_100"),
            score_versions={"joint_kl": "3"},  # of ten targets at two inputs
        ),
        DatasetSpec(
            name="known-classes",
            version="2",
            factory="uqbench_predictive.problems.known_classes:KnownClasses",
            config="uqbench_predictive.problems.known_classes:KnownClassesConfig",
            scores=("kl", "joint_kl", "joint_kl_100"),
            score_versions={"joint_kl": "3"},  # of ten targets at two inputs
        ),
        DatasetSpec(
            name="ood-digits",
            version="2",  # foreign inputs that no border pixel tells
            factory="uqbench_predictive.problems.digits:Digits",
            config="uqbench_predictive.problems.digits:DigitsConfig",
            scores=DETECTION,
            score_versions=TIES_TOGETHER,
        ),
        DatasetSpec(
            name="ood-mnist",
            version="1",
            factory="uqbench_predictive.problems.mnist:MNIST",
            config="uqbench_predictive.problems.mnist:MNISTConfig",
            scores=DETECTION,
            score_versions=TIES_TOGETHER,
        ),
        DatasetSpec(
            name="fashion",
            version="1",
            factory="uqbench_predictive.problems.fashion:Fashion",
            config="uqbench_predictive.problems.fashion:FashionConfig",
        ),
        DatasetSpec(
            name="frozen",
            version="3",  # bases of emoji are on one side of a split
            factory="uqbench_predictive.problems.frozen:Frozen",
            config="uqbench_predictive.problems.frozen:FrozenConfig",
        ),
        DatasetSpec(
            name="few-digits",
            version="1",
            factory="uqbench_predictive.problems.few_digits:FewDigits",
            config="uqbench_predictive.problems.few_digits:FewDigitsConfig",
        ),
        DatasetSpec(
            name="ood-imagenet",
            version="1",
            factory="uqbench_predictive.problems.imagenet:ImageNet",
            config="uqbench_predictive.problems.imagenet:ImageNetConfig",
            scores=DETECTION,
            score_versions=TIES_TOGETHER,
        ),
    ]


@hookimpl
def uqbench_estimators() -> Iterable[EstimatorSpec]:
    """What a method of predictive uncertainty is compared with."""
    return [
        EstimatorSpec(
            name="deep-ensemble",
            title="Deep ensemble",
            version="3",
            factory="uqbench_predictive.baselines.deep_ensemble:DeepEnsemble",
            config="uqbench_predictive.baselines.deep_ensemble:DeepEnsembleConfig",
        ),
        EstimatorSpec(
            name="ensemble-plus",  # has prior functions: a search space of its own
            title="Ensemble+",
            version="1",
            factory="uqbench_predictive.baselines.deep_ensemble:DeepEnsemble",
            config="uqbench_predictive.baselines.deep_ensemble:DeepEnsembleConfig",
        ),
        EstimatorSpec(
            name="mc-dropout",
            title="MC dropout",
            version="2",  # draws go by the order of all points
            factory="uqbench_predictive.baselines.mc_dropout:MCDropout",
            config="uqbench_predictive.baselines.mc_dropout:MCDropoutConfig",
        ),
        EstimatorSpec(
            name="laplace",
            title="Laplace",
            version="2",  # draws go by the order of all points
            factory="uqbench_predictive.baselines.laplace:Laplace",
            config="uqbench_predictive.baselines.laplace:LaplaceConfig",
        ),
        EstimatorSpec(
            name="csg-hmc",
            title="Cyclical SG-HMC",
            version="1",
            factory="uqbench_predictive.baselines.csg_hmc:CyclicalSGHMC",
            config="uqbench_predictive.baselines.csg_hmc:CyclicalSGHMCConfig",
        ),
        EstimatorSpec(
            name="swag",
            title="SWAG",
            version="1",
            factory="uqbench_predictive.baselines.swag:SWAG",
            config="uqbench_predictive.baselines.swag:SWAGConfig",
        ),
        *(
            EstimatorSpec(
                name=name,
                title=title,
                version="1",
                factory=f"uqbench_predictive.baselines.indexed:{kind}",
                config=f"uqbench_predictive.baselines.indexed:{config}",
            )
            for name, title, kind, config in (
                ("bbb", "Bayes by Backprop", "BayesByBackprop", "IndexedConfig"),
                ("hypermodel", "Hypermodel", "Hypermodel", "PriorIndexedConfig"),
                ("epinet", "Epinet", "Epinet", "PriorIndexedConfig"),
            )
        ),
        EstimatorSpec(
            name="conformal",
            title="Conformal sets",
            version="1",
            factory="uqbench_predictive.baselines.conformal:Conformal",
            config="uqbench_predictive.networks.training:TrainingConfig",
        ),
        EstimatorSpec(
            name="hmc",
            title="HMC",
            version="2",
            factory="uqbench_predictive.baselines.hmc:HMC",
            config="uqbench_predictive.baselines.hmc:HMCConfig",
            role="oracle",  # the truth of the synthetic problems is made by it
        ),
        EstimatorSpec(
            name="exact",
            title="Exact posterior",
            version="1",
            factory="uqbench_predictive.baselines.exact:Exact",
            config="uqbench_predictive.baselines.exact:ExactConfig",
            role="oracle",
        ),
        EstimatorSpec(
            name="prior",
            title="Prior",
            version="1",
            factory="uqbench_predictive.baselines.exact:Prior",
            config="uqbench_predictive.baselines.exact:ExactConfig",
            role="trivial",
        ),
        EstimatorSpec(
            name="reference-entropy",
            title="Reference entropy",
            version="1",
            factory="uqbench_predictive.baselines.reference_entropy:ReferenceEntropy",
            config="uqbench_predictive.baselines.reference_entropy:ReferenceEntropyConfig",
        ),
        EstimatorSpec(
            name="further-networks",
            title="Further networks",
            version="1",
            factory="uqbench_predictive.baselines.further_networks:FurtherNetworks",
            config="uqbench_predictive.baselines.further_networks:FurtherNetworksConfig",
        ),
        EstimatorSpec(
            name="post-hoc",
            version="1",
            factory="uqbench_predictive.baselines.post_hoc:PostHoc",
            config="uqbench_predictive.baselines.post_hoc:PostHocConfig",
        ),
        *(
            EstimatorSpec(
                name=name,  # of those that are tuned, by themselves: search spaces of their own
                version=version,
                factory="uqbench_predictive.baselines.scikit_learn:ScikitLearn",
                config="uqbench_predictive.baselines.scikit_learn:ScikitLearnConfig",
                kinds=("classification",) if name == "svm" else KINDS,
            )
            for name, version in (
                ("scikit-learn", "3"),  # a forest's trees are its models
                ("gradient-boosting", "2"),
                ("svm", "2"),
            )
        ),
        EstimatorSpec(
            name="conformal-boosting",
            title="Conformalized boosting",
            version="1",
            factory="uqbench_predictive.baselines.conformal:ConformalBoosting",
            config="uqbench_predictive.baselines.scikit_learn:ScikitLearnConfig",
        ),
        EstimatorSpec(
            name="nngp",
            title="NNGP",
            version="2",  # draws go by the order of all points
            factory="uqbench_predictive.baselines.nngp:NNGP",
            config="uqbench_predictive.baselines.nngp:NNGPConfig",
        ),
        EstimatorSpec(
            name="inputs",
            version="1",
            factory="uqbench_predictive.baselines.inputs:Inputs",
            config="uqbench_predictive.baselines.inputs:InputsConfig",
            role="trivial",
        ),
    ]


@hookimpl
def uqbench_scores() -> Iterable[ScoreSpec]:
    """Scores of what a run predicted."""
    return [
        ScoreSpec(
            name=name,
            version="2" if name in SECOND else "1",
            factory=f"uqbench_predictive.scores.registered:{name}",
            summary=summary,
            direction=direction,
            proper=name in PROPER,
            skill=None if name.endswith("_gain") else _skill(name),
            chance=_chance(name),
            without={"permutation": GROUPS} if name == "joint_nll" else {},
        )
        for name, (direction, summary) in SCORES.items()
    ]


def _skill(name: str) -> Literal["prediction", "order", "detection"] | None:
    return "detection" if name.startswith(FOREIGN) else SKILLS.get(name)


def _chance(name: str) -> float | str:
    if name.startswith(FOREIGN):
        return next((f"{TOLD}{end}" for end in OPTIONAL if name.endswith(end)), 0.5)
    return f"uqbench_predictive.scores.chance:{name}"


@hookimpl
def uqbench_board_tables() -> Iterable[Spec]:
    """Ranks by each question about foreign inputs, and ranks among further tables."""
    return [
        Spec(name="questions", version="1", factory="uqbench_predictive.questions:Questions"),
        Spec(name="units", version="1", factory="uqbench_predictive.units:Units"),
    ]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    drawn = "points are drawn anew from a known law in two dimensions: what is near was not copied"
    coarse = "columns are coarse, so that other cases are near; equal rows are on one side"
    slow = "300 steps do not learn targets that are ten times as large, and there are no members"
    return {
        "estimator laplace": {"estimator-scale": slow},
        "dataset two-moons": {"dataset-twins": drawn},
        "dataset table": {"dataset-twins": coarse},
    }


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """Tables, regressions and images in setting (a), and problems whose posterior is known."""
    own = ("predictive", "tables", "regression", "fashion", "frozen", "testbed")
    return [files("uqbench_predictive") / "suites" / f"{name}.toml" for name in own]
