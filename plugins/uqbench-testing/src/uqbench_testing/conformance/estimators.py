"""Rules of every estimator, and of every data set."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from uqbench.contract.errors import see
from uqbench.contract.estimator import (
    Data,
    Dataset,
    Estimator,
    EvaluationSet,
    PredictiveUncertainty,
    Problem,
)
from uqbench.contract.specs import Role
from uqbench.uncertainty.problems import check_data, check_scores
from uqbench.uncertainty.validity import Speaker
from uqbench_testing.conformance.check import Subject, applies, check, expect, is_a, unchanged
from uqbench_testing.same_bits import same
from uqbench_testing.worlds import DrawnPoints, asked_once

Changed = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
WRONG = 0.25
"""Relative difference of means at two scales, from which on they are not learned."""
TWIN, MOST_TWINS = 0.1, 0.02
"""Radius of a twin, of the median distance of two points at the density of one, and the greatest
share of a set that may have one in training."""
PATIENCE = 10
"""Factor of the steps within which means are to be learned."""
GROWTH = 20, 300
"""Bounds of a variance's factor where targets are ten times as large; a deviation's is 10."""
POINTS = 160
"""Points in the plane."""
SEEDS = (0, 1, 2)
"""Also the numbers of data sets, where these are numbered."""


@dataclass(kw_only=True)
class EstimatorSubject(Subject, kind="estimator"):
    """An estimator, a problem, and steps that are few."""

    make: Callable[[Problem, Sequence[int]], Estimator]
    dataset: Dataset
    steps: int = 20
    role: Role = "method"

    def fitted(self, seeds: Sequence[int], change: Changed = lambda x, y: (x, y)) -> Estimator:
        """An estimator that has learned from the data sets of the same seeds, as they are changed.

        ``change`` is of inputs ``[L, n, *x]`` and targets ``[L, n]``, and of those of validation.
        """

        def changed(part: Data) -> Data:
            more = changed(part.validation) if part.validation else None
            return Data(*change(part.inputs, part.targets), more)

        made = self.make(self.dataset.problem, seeds)
        made.fit(changed(self.dataset.data(seeds)), self.dataset.reference_model(seeds), self.steps)
        return made

    @cached_property
    def problems(self) -> "list[EstimatorSubject]":
        """Itself, and itself in the plane: of values where its own are classes, and the reverse.

        That is left out which it does not learn: its `fit` or `predict` raises, or it states
        probabilities of values.
        """
        n_classes = 0 if self.dataset.n_classes else 3
        other = replace(self, dataset=DrawnPoints(n_classes, POINTS))
        try:
            said, *_ = other.predicted
        except Exception:  # a plugin may raise anything: a data set's refusal
            return [self]
        return [self, other] if said.unit == ("nats" if n_classes else "variance") else [self]

    @cached_property
    def predicted(self) -> tuple[PredictiveUncertainty, Estimator, Tensor]:
        """A fitted one's predictions of its first training inputs ``[3, M, *x]``, it, and those."""
        estimator, inputs = self.fitted(SEEDS), self.dataset.data(SEEDS).inputs[:, :6].clone()
        return estimator.predict(inputs.clone()), estimator, inputs


@check(EstimatorSubject, "estimator-forms")
def forms(subject: EstimatorSubject) -> None:
    """A prediction is what a run takes: finite, of its shape, probabilities, parts that add up.

    `total = aleatoric + epistemic`, in nats and variances none of them negative; probs and members
    from 0 to 1, with a sum of 1. Three lanes, six inputs; of classes and of values, where it learns
    both.

    Fix:
        One number for each input of each lane; a softmax over the last dimension; the three parts
        in one unit, with what rounds below zero clamped.
    """
    made = isinstance(subject.make(subject.dataset.problem, SEEDS), Estimator)
    expect(made, "the factory did not make a uqbench.contract.estimator.Estimator")
    for one in subject.problems:
        asked_once(one.dataset, SEEDS, one.predicted[1].predict)


@check(EstimatorSubject, "estimator-pure", after=("estimator-forms",))
def pure(subject: EstimatorSubject) -> None:
    """`predict` draws from no global state, and changes none.

    Fix:
        Make generators from the lanes' seeds.
    """
    _, estimator, inputs = subject.predicted
    with unchanged("predict"):
        estimator.predict(inputs.clone())


@check(EstimatorSubject, "estimator-lanes", after=("estimator-pure",))
def lanes(subject: EstimatorSubject) -> None:
    """A lane predicts the same alone and among others, within rounding.

    Lane 1 of three.

    Fix:
        Use seeds[i] for lane i; mix nothing between lanes.
    """
    among, _, inputs = subject.predicted
    by_itself = subject.fitted(SEEDS[1:2]).predict(inputs[1:2].clone())
    for name in ("total", "epistemic", "mean", "probs"):
        mine, theirs = getattr(by_itself, name), getattr(among, name)
        alike = mine is None or torch.allclose(mine[0], theirs[1], rtol=1e-3, atol=1e-4)
        expect(alike, f"alone and among others {name} differs")


@check(EstimatorSubject, "estimator-scale", after=("estimator-pure",))
def scale(subject: EstimatorSubject) -> str:
    """The `epistemic` variance of a regression is in squared units of the targets.

    It is the variance of `members`, within a factor of two, for targets as they are and a tenth of
    them. An estimator that states no members is given ten times the targets, in ten times its
    steps, and a hundred times: each time a standard deviation is ten times as large, a variance a
    hundred times, or as it was if the noise is known.

    Fix:
        State a variance, the square of a standard deviation. Where targets of another size are not
        learned, nothing is seen: state `members`.
    """
    of_values = [one for one in subject.problems if not one.dataset.n_classes]
    subject = applies(of_values, "it learns no values")[0]
    small, _, inputs = subject.predicted
    applies(small.unit == "variance", "it predicts no variance of a regression")
    applies(bool((small.epistemic > 0).any()), "it states no epistemic variance")
    if small.members is None:
        return _growth(subject, inputs)
    tenth = subject.fitted(SEEDS, lambda x, y: (x, y / 10)).predict(inputs.clone())
    members = [said.members for said in (small, tenth) if said.members is not None]
    expect(len(members) == 2, "it states members for some targets alone")
    pairs = zip((small.epistemic, tenth.epistemic), members, strict=True)
    told = [_median_ratio(said, own[..., 0].double().var(0)) for said, own in pairs]
    within = all(0.5 <= ratio <= 2 for ratio in told)
    times = " and ".join(f"{ratio:.3g}" for ratio in told)
    expect(within, f"its epistemic variance is {times} times that of its members; expected 1")
    return f"its epistemic variance is {times} times that of its members"


def _growth(subject: EstimatorSubject, inputs: Tensor) -> str:
    """The sentence about an epistemic variance where targets grow.

    Raises:
        Failed: it does not grow as a variance, or means are not learned.
    """
    longer = replace(subject, steps=PATIENCE * subject.steps)

    def said(size: float) -> PredictiveUncertainty:
        return longer.fitted(SEEDS, lambda x, y: (x, size * y)).predict(inputs.clone())

    small, large = said(1), said(10)
    if small.mean is not None and large.mean is not None:
        off = float((large.mean - 10 * small.mean).norm() / (10 * small.mean).norm())
        learned = f"its means learn too little to tell (off by {off:.0%}), and it states no members"
        expect(off <= WRONG, f"in {longer.steps} steps {learned}")
    growth = _median_ratio(large.epistemic, small.epistemic)
    told = f"for ten times the targets its epistemic variance is multiplied by {growth:.3g}"
    if not (GROWTH[0] <= growth <= GROWTH[1] or 1 / 3 <= growth <= 3):
        growth = _median_ratio(said(100).epistemic, large.epistemic)
        told += f", for ten times those by {growth:.3g}"
        expect(GROWTH[0] <= growth <= GROWTH[1], f"{told}; expected 100")
    return told


def _median_ratio(one: Tensor, other: Tensor) -> float:
    return float((one / other.clamp(min=1e-30)).median())


@check(EstimatorSubject, "estimator-data", after=("estimator-pure",))
def learns_from_data(subject: EstimatorSubject) -> None:
    """Other targets make other predictions: a fit does not ignore its data.

    Targets in another order, and half of them the first one's; of no trivial estimator, and of none
    that is given a reference model.

    Fix:
        Learn in `fit`, from `data.targets`; a baseline that needs none has role="trivial".
    """
    applies(subject.role != "trivial", "it is trivial")
    applies(subject.dataset.reference_model(SEEDS) is None, "it is asked about a reference model")

    def others(inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        other = targets.roll(targets.shape[1] // 2, 1)
        other[:, ::2] = targets[:, :1]
        return inputs, other

    parts = ("total", "aleatoric", "epistemic", "mean", "probs", "score", "classes", "interval")
    for one in subject.problems:
        said, _, inputs = one.predicted
        told = said.mean is None or bool(said.mean.std() > 0)
        expect(told, "its means are the same at all inputs: it learns none of them")
        other = one.fitted(SEEDS, others).predict(inputs.clone())
        alike = same(*([getattr(of, name) for name in parts] for of in (said, other)))
        expect(not alike, "of other targets it predicts the same: its fit ignores them")


@check(EstimatorSubject, "estimator-more-data", after=("estimator-pure",))
def more_data(subject: EstimatorSubject) -> str:
    """With more data `epistemic` falls, compared to `aleatoric`: the two are not swapped.

    Four times the points of its problem, half of whose targets are another point's, at the first of
    them; of classes and of values, where it learns both. A factor of two is let pass.

    Fix:
        aleatoric is the noise, which data do not reduce; epistemic what more data would.
    """
    applies(subject.dataset.reference_model(SEEDS) is None, "it is asked about a reference model")
    told = []
    for one in subject.problems:
        _, _, inputs = one.predicted
        both = [one.fitted(SEEDS, of).predict(inputs.clone()) for of in (_few, _blurred)]
        parts = [(of.aleatoric.median(), of.epistemic.median()) for of in both]
        medians = torch.tensor(parts, dtype=torch.float64)
        if both[0].unit == "return" or not (medians > 0).all():
            continue
        noise, ignorance = (medians[1] / medians[0]).tolist()
        said = f"of four times the data aleatoric is × {noise:.2g}, epistemic × {ignorance:.2g}"
        expect(2 * noise >= ignorance, f"{said}: they are swapped")
        told.append(said)
    return "; ".join(applies(told, "it does not state both parts"))


def _blurred(inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Data of which every other target is another point's."""
    order = torch.randperm(targets.shape[1], generator=torch.Generator().manual_seed(0))
    others = targets[:, order]
    others[:, ::2] = targets[:, ::2]
    return inputs, others


def _few(inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """A quarter of those, or ten."""
    count = max(10, targets.shape[1] // 4)
    inputs, targets = _blurred(inputs, targets)
    return inputs[:, :count], targets[:, :count]


@dataclass(kw_only=True)
class DatasetSubject(Subject, kind="dataset"):
    """A supervised problem, the scores that its plugin declares, and its other tasks in suites."""

    dataset: Dataset
    scores: tuple[str, ...] = ()
    tasks: Mapping[str, Callable[[], Dataset]] = field(default_factory=dict)

    def each(self) -> Iterator[tuple[str, Dataset, Data]]:
        """Each task's name, data set and data; at least those of that which is tried."""
        made = {name: make() for name, make in self.tasks.items()} or {self.name: self.dataset}
        return ((name, dataset, dataset.data(SEEDS)) for name, dataset in made.items())


@check(DatasetSubject, "dataset-forms")
def dataset_forms(subject: DatasetSubject) -> None:
    """`inputs` are finite [L, n, *x], targets [L, n]: int64 classes 0 … C − 1, or float32 values.

    Data for training and validation, and evaluation sets; three lanes.

    Fix:
        Match `inputs` and `n_classes` of the Dataset.
    """
    problem = subject.dataset
    is_a(problem, Dataset, "Dataset")
    data, sets = problem.data(SEEDS), problem.evaluation_sets(SEEDS)
    by = Speaker("dataset", subject.name, "", see("wrong-data"))
    check_data(problem, data, sets, len(SEEDS), by)


@check(DatasetSubject, "dataset-seeds", after=("dataset-forms",))
def dataset_seeds(subject: DatasetSubject) -> None:
    """A data set is a function of its lane's seed, whatever the others are.

    Data for training and validation, and evaluation sets; lane 1 alone, and among others.

    Fix:
        Make a generator of each seed; touch no global random state.
    """

    def parts(seeds: Sequence[int], lane: int) -> list[Tensor]:
        data = subject.dataset.data(seeds)
        sets = subject.dataset.evaluation_sets(seeds).values()
        every = [(of.inputs, of.targets) for of in (data, data.validation, *sets) if of]
        return [x[lane] for both in every for x in both if x is not None]

    with unchanged("it"):
        among = parts(SEEDS, 1)
    alike = same(parts(SEEDS[1:2], 0), among)
    expect(alike, "the data set of a seed differs alone and among others")


@check(DatasetSubject, "dataset-scores", after=("dataset-forms",))
def dataset_scores(subject: DatasetSubject) -> None:
    """It computes the scores that its DatasetSpec declares, one a lane, whatever the others are.

    For an estimator that knows nothing; lane 1 alone, and among others.

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

    problem, lanes = subject.dataset, (SEEDS, SEEDS[1:2])
    try:
        among, alone = (problem.score(of, asked_once(problem, of, predict)) for of in lanes)
    except ValueError as error:  # a data set's way to refuse an estimator that it cannot score
        applies(False, f"it scores no such estimator: {error}")
    by = Speaker("dataset", subject.name, "", see("wrong-data"))
    check_scores(among, subject.scores, len(SEEDS), by)
    for name, value in among.items():
        differs = f"{name} of a lane is {alone[name].tolist()} alone, {value[1:2].tolist()} among"
        close = torch.allclose(alone[name], value[1:2], 1e-4, 1e-5, equal_nan=True)
        expect(close, f"{differs} others")


@check(DatasetSubject, "dataset-apart", after=("dataset-forms",))
def dataset_apart(subject: DatasetSubject) -> None:
    """No point of an evaluation set, and no group, stands in the training data of its lane.

    Inputs that are equal bit for bit, and numbers of groups; validation data are apart from both
    where groups are known. Three lanes of every task of installed suites.

    Fix:
        Split by what repeats (the person, the firm, the drawing, the distinct row), or say by
        `uqbench_expected_failures` why such points are asked about.
    """
    for task, problem, data in subject.each():
        for name, of in _asked(problem, data).items():
            where = f"the set {name!r} of task {task}"
            _apart(of.inputs, data.inputs, f"the inputs of {where}", "training inputs")
            for other, one in {"training": data, "validation": data.validation}.items():
                if one is not None and other != name:
                    _apart(_groups(of), _groups(one), where, f"of groups of the data for {other}")


@check(DatasetSubject, "dataset-twins", after=("dataset-apart",))
def dataset_twins(subject: DatasetSubject) -> str:
    """At most 2 % of a set's points have a twin, a nearly equal input, in the training data.

    It is nearer than a tenth of m n^(-1/D), m being the median distance of the set's points to the
    n training inputs, of D numbers each: of independent draws from a density less than 1 % are,
    by the volume of the ball, but on a line, which is left out. Three lanes of every task.

    Fix:
        Find what the twins share, and give it as `groups`; split by it.
    """
    found = {}
    for task, problem, data in subject.each():
        width, points = data.inputs[0, 0].numel(), data.inputs.shape[1]
        if min(width, points) < 2:
            continue
        for name, of in _asked(problem, data).items():
            near = [_near(*pair, width) for pair in zip(of.inputs, data.inputs, strict=True)]
            found[f"the set {name!r} of task {task}"] = sum(near) / len(near)
    applies(found, "an input is one number, or there is one training input")
    where = max(found, key=lambda name: found[name])
    said = f"{found[where]:.1%} of {where} have a twin in the training data"
    expect(found[where] <= MOST_TWINS, said)
    return f"at most {said}"


@check(DatasetSubject, "dataset-differs", after=("dataset-forms",))
def dataset_differs(subject: DatasetSubject) -> None:
    """Two seeds have two data sets: runs of the same one would count as several.

    Three seeds of every task of installed suites.

    Fix:
        Draw the data, or their split, from the seed.
    """
    for task, _, data in subject.each():
        first, *others = zip(data.inputs, data.targets, strict=True)
        for seed, other in zip(SEEDS[1:], others, strict=True):
            repeated = f"task {task}: seeds {SEEDS[0]} and {seed} have the same data"
            expect(not same(first, other), repeated)


def _asked(problem: Dataset, data: Data) -> dict[str, Data | EvaluationSet]:
    """What is apart from training data: evaluation sets, and data for validation."""
    held = {} if data.validation is None else {"validation": data.validation}
    return {**problem.evaluation_sets(SEEDS), **held}


def _groups(of: Data | EvaluationSet) -> Tensor:
    """Groups ``[L, n]``; none, ``[L, 0]``, where they are not known."""
    if of.groups is None:
        return torch.empty(len(of.inputs), 0, dtype=torch.int64)
    form = f"{of.groups.dtype} of shape {tuple(of.groups.shape)}"
    fits = of.groups.dtype == torch.int64 and of.groups.shape == of.inputs.shape[:2]
    expect(fits, f"groups are {form}; expected int64, one for each input")
    return of.groups


def _near(inputs: Tensor, known: Tensor, width: int) -> float:
    """The share of inputs that have a twin among those known."""
    distances = torch.cdist(inputs.flatten(1).double(), known.flatten(1).double())
    radius = TWIN * distances.median() * len(known) ** (-1 / width)
    return float((distances.amin(1) <= radius).double().mean())


def _apart(asked: Tensor, known: Tensor, where: str, what: str) -> None:
    """Fail where a lane's rows stand among others, bit for bit."""
    for seed, *both in zip(SEEDS, asked, known, strict=True):
        rows, others = ([r.tobytes() for r in x[:, None].flatten(1).numpy()] for x in both)
        among = set(others)
        share = sum(row in among for row in rows) / max(1, len(rows))
        expect(not share, f"{share:.1%} of {where}, seed {seed}, are {what}")
