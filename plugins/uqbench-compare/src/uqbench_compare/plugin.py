"""What this package adds to uqbench: scores of predictions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from uqbench.contract.hookspecs import hookimpl
from uqbench.contract.specs import ScoreSpec

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
"""Direction and summary of each function of :mod:`uqbench_compare.predictions.registered`."""
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
TOLD = "uqbench_compare.predictions.chance:told_by_"


@hookimpl
def uqbench_scores() -> Iterable[ScoreSpec]:
    """Scores of what a run predicted."""
    return [
        ScoreSpec(
            name=name,
            version="2" if name in SECOND else "1",
            factory=f"uqbench_compare.predictions.registered:{name}",
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
    return f"uqbench_compare.predictions.chance:{name}"
