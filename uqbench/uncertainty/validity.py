"""The one check of what is stated, by whatever way it comes in: a run, a file, ``plugin check``.

Numbers are checked as they are stored, rounded to float32, of arrays and of tensors. One sentence
names who stated what, in which lane and at which point, and what was expected.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from uqbench.contract.errors import UqbenchError
from uqbench.contract.estimator import Predictions, PredictiveUncertainty

Numbers = NDArray[Any]

ROUNDING = 1e-6
"""How far a variance may lie below zero, and a sum be off, over one and the largest of a lane."""
PROBABILITY = 2.0**-10
"""How far a sum of probabilities may be from one: 1e-3, twice what float16 rounds away at most,
half a unit in its eleventh binary place of each probability."""
SURPRISE = math.log(2e12)
"""Nats of the false alarm of :func:`_unlike`, one in 10¹² probabilities."""


@dataclass(frozen=True)
class Speaker:
    """The author of a statement, and its occasion, for the sentence that refuses it.

    Attributes:
        kind: ``estimator``, ``agent``, …
        name: of the class and its package.
        when: ``for the set 'test'``, ``after 7 steps``.
        see: where ``docs/errors.md`` says more.
    """

    kind: str
    name: str
    when: str
    see: str

    def refusal(self, found: str, expected: str) -> UqbenchError:
        """The error: found, expected, who."""
        return UqbenchError(
            f"the {self.kind}'s {found}; expected {expected} ({self.name}){self.see}"
        )

    def refuse(self, fault: str, wrong: Any, value: Any, expected: str) -> None:
        """Raise where ``wrong`` holds anywhere, both ``[L, M, …]``, with the first such point."""
        if not wrong.any():
            return
        lane, point, *rest = np.argwhere(wrong.tolist())[0].tolist()
        place = f"lane {lane} at point {point}" + (f", entry {rest}" if rest else "")
        stated = float(value[(lane, point, *rest)])
        raise self.refusal(f"{fault} {self.when}: {stated:.6g} in {place}", expected)


SCORE = Speaker("scored", "statement", "", "wrong-uncertainty")
"""The speaker of checks whose sentence nobody reads: what is invalid has no score."""


def check_prediction(
    given: Predictions[Any], shape: tuple[int, int], n_classes: int, by: Speaker
) -> None:
    """Refuse a prediction that a score would read and cannot trust.

    Args:
        given: the prediction, and the reference model's where there is one.
        shape: ``(L, M)``.
        n_classes: C, 0 for a regression.
        by: the estimator.

    Raises:
        UqbenchError: names class, set, lane, point, what was stated and what was expected.
    """
    stated = given.predicted
    units = ("nats",) if n_classes else ("nats", "variance", "return")
    if stated.unit not in units:
        found = f"unit {by.when} is {stated.unit!r}"
        problem = f"{n_classes} classes" if n_classes else "a regression"
        raise by.refusal(found, f"{' or '.join(map(repr, units))} of {problem}")
    values = dict(rounded(stated, shape, n_classes, by))
    for name, value in values.items():
        by.refuse(f"{name} is not finite", ~np.isfinite(value), value, "finite numbers")
    for name in ("probs", "highest", "members"):
        if n_classes and name in values:
            check_probabilities(name, values[name], name != "highest", by)
    if "classes" in values:
        chosen = values["classes"]
        neither = (chosen != 0) & (chosen != 1)
        by.refuse("classes holds no truth value", neither, chosen, "0 or 1 for each class")
    if "interval" in values:
        low, high = np.moveaxis(values["interval"], -1, 0)
        by.refuse("interval ends below its start", high < low, high, "its lower end first")
    _check_parts(values, stated.unit, bool(n_classes), by)
    if n_classes and given.reference is None and "members" in values:
        mean = values["members"].mean(2, np.float64)  # of [L, M, S, C]
        off = _unlike(mean, values["probs"].astype(np.float64), values["members"].shape[2])
        expected = "in setting (a) probs, as near as that many models drawn at random come"
        by.refuse("members have another mean than its probs", off, mean, expected)
    if "highest" in values:
        models = [values["members"].max(2)] if "members" in values else []
        models += [values["probs"]] if given.reference is None else []
        for least in models:
            below = values["highest"] < least - PROBABILITY
            expected = "the largest probability of any model, no less than their mean"
            by.refuse("highest is below a model's probability", below, values["highest"], expected)


def rounded(
    stated: PredictiveUncertainty[Any], shape: tuple[int, int], n_classes: int, by: Speaker
) -> Iterator[tuple[str, Numbers]]:
    """Name and float32 numbers ``[L, M, …]`` of whatever is stated; ``members`` ``[L, M, S, C]``.

    Raises:
        UqbenchError: something is of another shape or dtype, is missing, or is not for this kind
            of problem.
    """
    needed, classes = ("total", "aleatoric", "epistemic"), ("probs", "highest", "classes")
    widths: dict[str, tuple[int, ...]] = dict.fromkeys((*needed, "mean", "score", "energy"), ())
    widths |= {"interval": (2,), **dict.fromkeys(classes, (n_classes,))}
    if stated.weights is not None:
        widths["weights"] = stated.weights.shape[-1:]
    for name, width in widths.items():
        value = getattr(stated, name)
        if value is None and (name in needed or (name == "probs" and n_classes)):
            raise by.refusal(f"prediction {by.when} has no {name}", f"it, {(*shape, *width)}")
        if value is None:
            continue
        if name in classes and not n_classes:
            raise by.refusal(f"prediction {by.when} has {name}", "None of a regression")
        fits = is_float(value) or (name == "classes" and hasattr(value, "dtype"))
        if not fits or value.shape != (*shape, *width):
            expected = f"floats of shape {(*shape, *width)}"
            raise by.refusal(f"{name} {by.when} is {_form(value)}", expected)
        yield name, numbers(value)
    members, each = stated.members, (*shape, n_classes or 1)
    if members is None:
        return
    if not is_float(members) or members.shape[1:] != each or not len(members):
        expected = f"floats of shape (S, {str(each)[1:]}"
        raise by.refusal(f"members {by.when} is {_form(members)}", expected)
    yield "members", np.moveaxis(numbers(members), 0, 2)


def check_probabilities(name: str, value: Numbers, sums: bool, by: Speaker) -> None:
    """Refuse numbers below zero or above one, or that do not sum to one over the last dimension."""
    expected = "probabilities from 0 to 1, a softmax over the last dimension"
    by.refuse(f"{name} are negative", value < 0, value, expected)
    total = value.sum(-1, np.float64)
    if sums:
        off = abs(total - 1) > PROBABILITY
        by.refuse(f"{name} do not sum to one", off, total, "a sum of 1, within 0.001")
    by.refuse(f"{name} are above one", value > 1 + PROBABILITY, value, expected)


def _check_parts(values: dict[str, Numbers], unit: str, classes: bool, by: Speaker) -> None:
    """Refuse parts that are negative, or whose sum is not the total.

    Each of the three may be rounded to float16, 2⁻¹¹ of itself. Nats are as far off as the
    probabilities that they are computed from.
    """
    total, parts = values["total"], [values["aleatoric"], values["epistemic"]]
    size = abs(total) + abs(parts[0]) + abs(parts[1])
    slack = PROBABILITY if unit == "nats" else ROUNDING * (1 + largest(size))
    names: tuple[str, ...] = () if unit == "return" else ("total", "aleatoric", "epistemic")
    if unit == "nats" and not classes:
        names = ("epistemic",)  # the entropy of a density may be negative, a divergence is not
    for name in names:
        value = values[name]
        negative = value < -slack * (1 + abs(value) if unit == "nats" else 1)
        by.refuse(f"{name} is negative", negative, value, f"{unit}, zero or more")
    off = abs(total - parts[0] - parts[1]) > slack + PROBABILITY * size
    by.refuse("total is not aleatoric + epistemic", off, total, "their sum, within 0.001")


def _unlike(mean: Numbers, probs: Numbers, count: int) -> Any:
    """Points at which the mean of ``count`` models is none that such draws have around ``probs``.

    A mean m of n draws from a law on [0, 1] with mean p has ``P ≤ 2 exp(−n KL(m ‖ p))``, KL between
    coins (Hoeffding 1963, theorem 1). An ensemble's mean is exact but for rounding.
    """
    m, p = mean.clip(0, 1), probs.clip(0, 1)
    coins = xlogy(m, m) - xlogy(m, p) + xlogy(1 - m, 1 - m) - xlogy(1 - m, 1 - p)
    return (abs(mean - probs) > PROBABILITY) & (count * coins > SURPRISE)


def largest(value: Numbers) -> Any:
    """The largest value of each lane ``[L, 1, …]``: a lane answers for itself."""
    return np.nan_to_num(value, posinf=0.0).max(tuple(range(1, value.ndim)), keepdims=True)


def is_float(value: Any) -> bool:
    """Whether this is a tensor or an array of floats."""
    dtype = getattr(value, "dtype", None)
    return bool(getattr(dtype, "is_floating_point", getattr(dtype, "kind", "") == "f"))


def numbers(value: Any) -> Numbers:
    """The numbers of a tensor or an array, as they are stored."""
    with np.errstate(over="ignore"):
        plain = value if isinstance(value, np.ndarray) else value.detach().float().cpu().numpy()
        return np.asarray(plain, np.float32)


def _form(value: Any) -> str:
    if not hasattr(value, "dtype"):
        return f"a {type(value).__name__}"
    return f"{value.dtype} of shape {tuple(value.shape)}"


def is_prediction(given: Predictions[Any]) -> bool:
    """Whether a prediction of any number of lanes may be scored: a score of another one is none."""
    said = given.predicted
    classes = 0 if said.probs is None else said.probs.shape[-1]
    shape = (0, 0) if said.total is None else said.total.shape[:2]
    try:
        check_prediction(given, shape, classes, SCORE)
    except UqbenchError:
        return False
    return True
