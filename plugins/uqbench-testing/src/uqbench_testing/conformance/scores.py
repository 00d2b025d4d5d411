"""Rules of every score of predictions, on toy predictions whose statements repeat."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator, Philox
from numpy.typing import NDArray
from scipy.special import entr, ndtri

from uqbench.contract.estimator import Predictions, PredictiveUncertainty
from uqbench.contract.seeding import derive_seed
from uqbench.contract.specs import ScoreSpec
from uqbench.uncertainty.predictions import score_of
from uqbench_testing.conformance.check import Subject, Vacuous, applies, check, expect

CLASSES = (0, 3)
"""A regression, and a classification."""
SEEDS = range(6)
MEMBERS, STATEMENTS = 3, 4
COPIES = {0: 200, 3: 20}
"""Targets of each statement, in the shares that the truth has."""
DRAWN, LABELS = 200, 400
"""Points, and models, where labels drawn from the truth are called models."""


Array = NDArray[Any]
Given = Predictions[Array]
Said = PredictiveUncertainty[Array]


class Toy(dict[str, Given]):
    """Predictions of every evaluation set that a score may ask for, each made from its name."""

    def __init__(self, make: Callable[[str], Given]) -> None:
        super().__init__()
        self._make = make

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Given:
        self[name] = self._make(name)
        return self[name]


@dataclass(kw_only=True)
class ScoreSubject(Subject, kind="score"):
    """A score of predictions, as its plugin declares it."""

    spec: ScoreSpec

    def values(self, *toys: Toy) -> list[float]:
        """The score of each; of predictions that the score does not read, NaN."""
        toys[0]["test"]  # what every score may read is checked before it is asked
        return [score_of(self.spec, toy) for toy in toys]


def toy(seed: int, classes: int, points: int = 30, *, constant: bool = False) -> Toy:
    """Predictions by a few statements, so that most are equal, or by one for all points."""
    said = statements(drawing("statements", seed), classes, 1 if constant else MEMBERS)

    def make(name: str) -> Given:
        g = drawing("toy", name, seed)
        which = g.integers(1 if constant else STATEMENTS, size=points)
        targets = g.integers(max(classes, 5), size=(1, points))
        return Predictions(taken(said, which), targets % classes if classes else targets / 2)

    return Toy(make)


def drawing(*names: str | int) -> Generator:
    """Random numbers that follow from the names."""
    return Generator(Philox(derive_seed(*names)))


def statements(generator: Generator, classes: int, members: int = 1) -> Said:
    """A few statements ``[1, 4]``, small numbers' ratios, with members if there are several."""
    shape = members, 1, STATEMENTS
    if classes:
        weights = generator.integers(5, size=(*shape, classes))
        weights += weights.sum(-1, keepdims=True) == 0
        each = weights / weights.sum(-1, keepdims=True)
        said = of_probabilities(each.mean(0))
    else:
        each = generator.integers(5, size=(*shape, 1)) / 2
        noise = 0.25 * 4.0 ** generator.integers(3, size=shape[1:])
        spread = each[..., 0].var(0)
        mean = each[..., 0].mean(0)
        said = PredictiveUncertainty(noise + spread, noise, spread, None, "variance", mean=mean)
    score = generator.integers(4, size=shape[1:]).astype(float)
    energy = score if classes else None
    return replace(said, score=score, energy=energy, members=each if members > 1 else None)


def of_probabilities(probs: Array) -> Said:
    """A statement of classes' probabilities alone, ``[..., C]``."""
    entropy = entr(probs).sum(-1)
    return PredictiveUncertainty(entropy, entropy, 0 * entropy, probs, "nats")


def taken(said: Said, which: Array) -> Said:
    """The statements of these points, in this order."""

    def part(name: str, x: Any) -> Any:
        return np.take(x, which, 2 if name == "members" else 1) if isinstance(x, np.ndarray) else x

    return PredictiveUncertainty(**{name: part(name, x) for name, x in vars(said).items()})


def permuted(given: Toy, seed: int) -> Toy:
    """A copy with the points of each set in another order."""

    def make(name: str) -> Given:
        one = given[name]
        assert one.targets is not None
        order = drawing("order", name, seed).permutation(one.targets.shape[1])
        return Predictions(taken(one.predicted, order), one.targets[:, order])

    return Toy(make)


def population(seed: int, classes: int, misstatement: int | None = None) -> Toy:
    """Points whose targets have exactly the shares that the truth gives them.

    A score of them is the expected score, of classes exactly, of normals up to 1e-3.

    Args:
        seed: of the truth.
        classes: 0 for a normal law.
        misstatement: which is stated; None for the truth.
    """
    truth, copies = statements(drawing("truth", seed), classes), COPIES[classes]
    if truth.probs is not None:
        counts = (truth.probs[0] * copies).astype(int)
        counts[:, 0] += copies - counts.sum(-1)
        truth = of_probabilities(counts[None] / copies)
        targets = np.concatenate([np.repeat(np.arange(classes), own) for own in counts])
    else:
        assert truth.mean is not None
        z = ndtri((np.arange(copies) + 0.5) / copies)
        targets = (truth.mean[0, :, None] + np.sqrt(truth.total[0])[:, None] * z / z.std()).ravel()
    said = replace(truth if misstatement is None else misstated(truth, misstatement), score=None)
    which = np.repeat(np.arange(STATEMENTS), copies)
    return Toy(lambda _: Predictions(taken(said, which), targets[None]))


def labels_as_models(seed: int, classes: int) -> tuple[Toy, Toy]:
    """Drawn targets with the truth, and with the same truth whose labels are called models.

    A model is sure of a label of its own at each point, of which all models together have the
    truth's shares: it takes noise for ignorance. What is predicted of one point is the truth's in
    both. A score that asks for several copies of one label, which no law of labels gives, pays.
    """
    g = drawing("labels", seed)
    said = taken(statements(g, classes), g.integers(STATEMENTS, size=DRAWN))
    ranks = g.random((LABELS, DRAWN)).argsort(0)
    uniform = np.concatenate([g.random((1, DRAWN)), (ranks + 0.5) / LABELS])
    if said.probs is not None:
        ends = said.probs[0].cumsum(-1)[:, :-1]
        drawn = (ends < uniform[..., None]).sum(-1)
        models = np.eye(classes)[drawn[1:]][:, None]
        other = replace(said, aleatoric=0 * said.total, epistemic=said.total)
    else:
        assert said.mean is not None
        drawn = said.mean[0] + np.sqrt(said.total[0]) * ndtri(uniform)
        models, little = drawn[1:, None, :, None], 1e-3 * said.total
        other = replace(said, aleatoric=little, epistemic=said.total - little)
    told = replace(said, score=None), replace(other, score=None, members=models)
    first, second = (Predictions(one, drawn[:1]) for one in told)
    return Toy(lambda _: first), Toy(lambda _: second)


def misstated(truth: Said, how: int) -> Said:
    """Another valid statement: the truth raised to a power, sums of 1.0009, or anything."""
    other = statements(drawing("misstated", how), 0 if truth.probs is None else 3)
    if truth.probs is not None and other.probs is not None:
        raised = truth.probs ** (0.5, 1.0, 2.0)[how % 3]
        said = of_probabilities(raised / raised.sum(-1, keepdims=True)) if how % 4 else other
        assert said.probs is not None
        return replace(said, probs=said.probs * (1.0009 if how % 2 else 1.0))
    mean = truth.mean if how % 2 else other.mean
    factor = (0.25, 0.8, 1.0, 1.3, 4.0)[how % 5]
    return replace(truth, mean=mean, total=factor * truth.total, aleatoric=factor * truth.aleatoric)


def differ(first: float, second: float) -> bool:
    """Whether two scores are others; where both have no value, they are not."""
    return not np.isclose(second, first, rtol=1e-6, atol=1e-6, equal_nan=True)


@check(ScoreSubject, "score-permutation")
def permutation(subject: ScoreSubject) -> None:
    """A permutation of the points changes nothing.

    Thirty points with four different statements: ties are in no order.

    Fix:
        Take the mean over the orders of equal numbers, or see them as one group; or say in
        `without` why the score is of the order.
    """
    why = subject.spec.without.get("permutation")
    applies(why is None, f"it says why it is of the order: {why}")
    found = []
    for classes, seed in product(CLASSES, SEEDS):
        given = toy(seed, classes)
        first, second = subject.values(given, permuted(given, seed))
        other = f"the same points in another order: {first:.6g}, then {second:.6g}"
        expect(not differ(first, second), other)
        found.append(first)
    none = "it has no value on toy predictions of classes or of a regression"
    expect(not all(map(math.isnan, found)), none, Vacuous)


@check(ScoreSubject, "score-chance", after=("score-permutation",))
def chance(subject: ScoreSubject) -> None:
    """A statement that is the same for every point scores at chance, by the targets alone.

    Thirty points; against the declared `chance`.

    Fix:
        Declare ScoreSpec.chance, a number or a function of the same predictions; or say in
        `without` why there is none.
    """
    why, chance = subject.spec.without.get("chance"), subject.spec.chance
    applies(why is None, f"it says why it has none: {why}")
    none = "it declares neither a chance for constant statements nor why it has none"
    expect(chance is not None, none)
    for classes, seed in product(CLASSES, SEEDS):
        given = toy(seed, classes, constant=True)
        (value,), expected = subject.values(given), subject.spec.at_chance(given)
        alike = expected is not None and (math.isnan(value) or not differ(value, expected))
        expect(alike, f"a constant statement scores {value:.6g}; chance is {expected}")


@check(ScoreSubject, "score-proper", after=("score-permutation",))
def proper(subject: ScoreSubject) -> None:
    """No valid statement beats the truth's expected score, where it is declared proper.

    Targets in the shares that four truths give them; twelve other statements of each; and the truth
    with labels that are called models.

    Fix:
        Normalize probabilities; declare `proper` of scores alone that the truth optimizes.
    """
    applies(subject.spec.proper, "it is not declared proper")
    sign = 1 if subject.spec.direction == "min" else -1
    for classes, seed in product(CLASSES, SEEDS):
        (truth,) = subject.values(population(seed, classes))
        for how in range(12):
            (other,) = subject.values(population(seed, classes, how))
            beaten = sign * (truth - other) > (1e-9 if classes else 1e-3)
            expect(not beaten, f"another statement scores {other:.6g}, the truth {truth:.6g}")
        truth, other = subject.values(*labels_as_models(seed, classes))
        beaten = sign * (truth - other) > 1e-9
        expect(not beaten, f"labels called models score {other:.6g}, the truth {truth:.6g}")
