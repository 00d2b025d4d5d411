"""What every estimator and every data set must do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from uqbench.contract.estimator import Dataset, Estimator, PredictiveUncertainty
from uqbench.testing.conformance.agent_runs import same
from uqbench.testing.conformance.check import Failed, Skipped, Subject, check, once, unchanged

SEEDS = (0, 1, 2)
"""Also the numbers of data sets, where these are numbered."""
UNITS = ("nats", "variance", "return")


@dataclass(kw_only=True)
class EstimatorSubject(Subject):
    """An estimator, a problem, and steps that are few."""

    kind: ClassVar[str] = "estimator"
    make: Callable[[Dataset, Sequence[int]], Estimator]
    dataset: Dataset
    steps: int = 20

    def fitted(self, seeds: Sequence[int]) -> Estimator:
        """An estimator that has learned from the data sets of the same seeds."""
        made = self.make(self.dataset, seeds)
        made.fit(self.dataset.data(seeds), self.dataset.reference_model(seeds), self.steps)
        return made

    @once
    def predicted(self) -> tuple[PredictiveUncertainty, Estimator, Tensor]:
        """A fitted one's predictions of its first training inputs ``[3, M, *x]``, it, and those."""
        estimator, inputs = self.fitted(SEEDS), self.dataset.data(SEEDS).inputs[:, :6].clone()
        return estimator.predict(inputs), estimator, inputs


@check(EstimatorSubject, "estimator-forms")
def forms(subject: EstimatorSubject) -> None:
    """total, aleatoric, epistemic are finite [L, M] with a unit; probs [L, M, C] sum to one.

    Three lanes, six inputs.

    Fix:
        One number for each input of each lane; unit is 'nats', 'variance' or 'return'.
    """
    if not isinstance(subject.make(subject.dataset, SEEDS), Estimator):
        raise Failed("the factory did not make a uqbench.contract.estimator.Estimator")
    predicted, _, inputs = subject.predicted()
    shape = tuple(inputs.shape[:2])
    for name in ("total", "aleatoric", "epistemic"):
        value = getattr(predicted, name)
        if tuple(value.shape) != shape or not value.isfinite().all():
            raise Failed(f"{name} is {tuple(value.shape)}; expected finite numbers {shape}")
    if predicted.unit not in UNITS:
        raise Failed(f"its unit is {predicted.unit!r}; expected one of {', '.join(UNITS)}")
    if predicted.probs is not None:
        sums = predicted.probs.sum(-1)
        if predicted.probs.shape != (*shape, subject.dataset.n_classes):
            raise Failed(f"probs are {tuple(predicted.probs.shape)}")
        if (predicted.probs < 0).any() or not torch.allclose(
            sums, torch.ones_like(sums), atol=1e-4
        ):
            raise Failed("probs do not sum to one")


@check(EstimatorSubject, "estimator-sum", after=("estimator-forms",))
def sums(subject: EstimatorSubject) -> None:
    """`total = aleatoric + epistemic`; in nats and variances none of them is negative.

    Up to rounding.

    Fix:
        State the three in one unit; clamp what rounds below zero.
    """
    predicted, *_ = subject.predicted()
    if not torch.allclose(
        predicted.total, predicted.aleatoric + predicted.epistemic, rtol=1e-3, atol=1e-4
    ):
        raise Failed("total is not the sum of aleatoric and epistemic")
    for name in ("aleatoric", "epistemic"):
        if predicted.unit != "return" and (getattr(predicted, name) < -1e-5).any():
            raise Failed(f"{name} is {getattr(predicted, name).min().item():.4g} {predicted.unit}")


@check(EstimatorSubject, "estimator-pure", after=("estimator-forms",))
def pure(subject: EstimatorSubject) -> None:
    """`predict` changes nothing, draws from no global state and does not write into its inputs.

    Asked again, it says the same.

    Fix:
        Draw what a prediction needs in fit, or from generators made anew in each call.
    """
    first, estimator, inputs = subject.predicted()
    before = inputs.clone()
    with unchanged("predict"):
        second = estimator.predict(inputs)
    if not torch.equal(inputs, before):
        raise Failed("predict wrote into its inputs")
    if not same(second.total, first.total) or not same(second.epistemic, first.epistemic):
        raise Failed("asked again, it predicts something else")


@check(EstimatorSubject, "estimator-lanes", after=("estimator-pure",))
def lanes(subject: EstimatorSubject) -> None:
    """A lane predicts the same alone and among others, within rounding.

    Lane 1 of three.

    Fix:
        Use seeds[i] for lane i; mix nothing between lanes.
    """
    among, _, inputs = subject.predicted()
    by_itself = subject.fitted(SEEDS[1:2]).predict(inputs[1:2].clone())
    for name in ("total", "epistemic"):
        mine, theirs = getattr(by_itself, name)[0], getattr(among, name)[1]
        if not torch.allclose(mine, theirs, rtol=1e-3, atol=1e-4):
            raise Failed(f"alone and among others {name} differs")


@check(EstimatorSubject, "estimator-reference", after=("estimator-forms",))
def reference(subject: EstimatorSubject) -> None:
    """In setting (b) the reference model is the same after fit and predict as before.

    Its log-probabilities at the first training inputs.

    Fix:
        Search or sample around copies of its weights: other estimators are given the same model.
    """
    model = subject.dataset.reference_model(SEEDS)
    if model is None:
        raise Skipped("its dataset has no reference model: setting (a)")
    data = subject.dataset.data(SEEDS)
    inputs = data.inputs[:, :6].clone()
    before = model.log_probs(inputs).clone()
    estimator = subject.make(subject.dataset, SEEDS)
    estimator.fit(data, model, subject.steps)
    estimator.predict(inputs)
    if not same(before, model.log_probs(inputs)):
        raise Failed("after fit and predict the reference model predicts something else")


@dataclass(kw_only=True)
class DatasetSubject(Subject):
    """A supervised problem, and the scores that its plugin declares."""

    kind: ClassVar[str] = "dataset"
    dataset: Dataset
    scores: tuple[str, ...] = ()


@check(DatasetSubject, "dataset-forms")
def dataset_forms(subject: DatasetSubject) -> None:
    """`inputs` are [L, n, *x], targets [L, n]: int64 classes 0 … C − 1, or float32 values.

    Three lanes.

    Fix:
        Match `inputs` and `n_classes` of the Dataset.
    """
    problem = subject.dataset
    if not isinstance(problem, Dataset):
        raise Failed(f"the factory made a {type(problem).__name__}, not a Dataset")
    data = problem.data(SEEDS)
    shape = data.inputs.shape
    if shape[0] != len(SEEDS) or tuple(shape[2:]) != tuple(problem.inputs):
        raise Failed(f"inputs are {tuple(shape)}; one input is {problem.inputs}")
    if data.targets.shape != shape[:2]:
        raise Failed(f"targets are {tuple(data.targets.shape)}; expected {tuple(shape[:2])}")
    wanted = torch.int64 if problem.n_classes else torch.float32
    if data.targets.dtype != wanted:
        raise Failed(f"targets are {data.targets.dtype}; expected {wanted}")
    known = torch.arange(problem.n_classes or 0)
    if problem.n_classes and not torch.isin(data.targets, known).all():
        raise Failed(f"a target is not one of the {problem.n_classes} classes")


@check(DatasetSubject, "dataset-seeds", after=("dataset-forms",))
def dataset_seeds(subject: DatasetSubject) -> None:
    """A data set is a function of its lane's seed, whatever the others are.

    Lane 1 alone, and among others.

    Fix:
        Make a generator of each seed; touch no global random state.
    """
    with unchanged("it"):
        among = subject.dataset.data(SEEDS)
    alone = subject.dataset.data(SEEDS[1:2])
    if not same([alone.inputs[0], alone.targets[0]], [among.inputs[1], among.targets[1]]):
        raise Failed("the data set of a seed differs alone and among others")


@check(DatasetSubject, "dataset-scores", after=("dataset-forms",))
def dataset_scores(subject: DatasetSubject) -> None:
    """It computes the scores that its DatasetSpec declares, one a lane.

    Of an estimator that knows nothing.

    Fix:
        Return exactly the declared names, each [L]; raise ValueError for an estimator that it
        cannot score.
    """
    n_classes = subject.dataset.n_classes

    def predict(inputs: Tensor) -> PredictiveUncertainty:
        zero = torch.zeros(inputs.shape[:2])
        probs = torch.full((*zero.shape, n_classes), 1 / n_classes) if n_classes else None
        unit: Literal["nats", "variance"] = "nats" if n_classes else "variance"
        return PredictiveUncertainty(zero + 1, zero + 0.5, zero + 0.5, probs, unit, zero, probs)

    problem = subject.dataset
    try:
        given = problem.predictions(SEEDS, predict, problem.reference_model(SEEDS))
        scores = problem.score(SEEDS, given)
    except ValueError as error:  # a data set's way to refuse an estimator that it cannot score
        raise Skipped(f"it scores no such estimator: {error}") from error
    if set(scores) != set(subject.scores):
        raise Failed(f"it computes {sorted(scores)}; declared: {sorted(subject.scores)}")
    for name, value in scores.items():
        if tuple(value.shape) != (len(SEEDS),):
            raise Failed(f"the score {name!r} is {tuple(value.shape)}; expected ({len(SEEDS)},)")
