"""The one check of what is stated, by whatever way it comes in: a run, a file, ``plugin check``.

Numbers are checked as they are stored, rounded to float32. One sentence names who stated what, in
which lane and at which point, and what was expected.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn import Parameter

from uqbench.contract.agent import Uncertainty
from uqbench.contract.errors import UqbenchError
from uqbench.contract.estimator import Data, EvaluationSet, Predictions, PredictiveUncertainty

VARIANCES = ("epistemic_var", "quantile_epistemic_var", "aleatoric_var", "oracle_var")
VALUES = ("mean", "epistemic_dof", *VARIANCES)
"""An agent's values: one number an action."""
UNBOUNDED = ("epistemic_var", "quantile_epistemic_var", "oracle_var", "epistemic_dof")
"""May be infinite, where nothing was ever seen (O'Donoghue et al. 2018, section 4: the local
uncertainty β² / n of what was never visited); degrees of freedom where a variance is exact."""
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

    def refuse(self, fault: str, wrong: Tensor, value: Tensor, expected: str) -> None:
        """Raise where ``wrong`` holds anywhere, both ``[L, M, …]``, with the first such point."""
        if not wrong.any():
            return
        lane, point, *rest = wrong.nonzero()[0].tolist()
        place = f"lane {lane} at point {point}" + (f", entry {rest}" if rest else "")
        stated = float(value[(lane, point, *rest)])
        raise self.refusal(f"{fault} {self.when}: {stated:.6g} in {place}", expected)


SCORE = Speaker("scored", "statement", "", "wrong-uncertainty")
"""The speaker of checks whose sentence nobody reads: what is invalid has no score."""


PLAIN = (Tensor, Parameter)
"""Another class's tensor computes with itself whatever it wants."""
Stated = TypeVar("Stated", PredictiveUncertainty, Uncertainty, Data, EvaluationSet)


def plain_parts(stated: object, kind: type[Stated], by: Speaker) -> Stated:
    """A statement or data, made anew: its tensors' numbers, in memory that nobody else holds.

    Dense, contiguous and without gradient. What is checked, scored and stored is this object.

    Raises:
        UqbenchError: it is of another kind, or a part is a tensor of a subclass, sparse or meta.
    """
    if not isinstance(stated, kind):
        found = f"statement {by.when} is a {type(stated).__name__}"
        raise by.refusal(found, f"a {kind.__module__.replace('.contract.', '.')}.{kind.__name__}")
    parts: dict[str, Any] = {}
    for name in (field.name for field in fields(kind)):
        value = parts[name] = getattr(stated, name)
        if isinstance(value, Data):
            parts[name] = plain_parts(value, Data, replace(by, when=f"for {name}"))
        if not isinstance(value, Tensor):
            continue
        if type(value) not in PLAIN or value.is_meta or value.layout != torch.strided:
            expected = "a torch.Tensor itself, of numbers, dense"
            raise by.refusal(f"{name} {by.when} is {form_of(value)}", expected)
        parts[name] = value.detach().clone(memory_format=torch.contiguous_format)
    return kind(**parts)


def plain_prediction(
    stated: object, shape: tuple[int, int], n_classes: int, by: Speaker
) -> PredictiveUncertainty:
    """A prediction as :func:`plain_parts` makes it, in float64 on the CPU, its forms checked.

    Args:
        stated: by the estimator, for ``shape`` inputs.
        shape: ``(L, M)``.
        n_classes: C, 0 for a regression.
        by: the estimator.

    Raises:
        UqbenchError: it is no prediction, or a part has another shape or dtype.
    """
    said = plain_parts(stated, PredictiveUncertainty, by)
    for _ in _rounded(said, shape, n_classes, by):
        pass
    numbers = {name: x.double().cpu() for name, x in vars(said).items() if _is_float(x)}
    return replace(said, **numbers)


def check_prediction(
    given: Predictions, shape: tuple[int, int], n_classes: int, by: Speaker
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
        raise by.refusal(found, f"{' or '.join(map(repr, units))} of {_problem(n_classes)}")
    values = dict(_rounded(stated, shape, n_classes, by))
    for name, value in values.items():
        by.refuse(f"{name} is not finite", ~value.isfinite(), value, "finite numbers")
    for name in ("probs", "highest", "members"):
        if n_classes and name in values:
            _check_probabilities(name, values[name], name != "highest", by)
    if "classes" in values:
        chosen = values["classes"]
        neither = (chosen != 0) & (chosen != 1)
        by.refuse("classes holds no truth value", neither, chosen, "0 or 1 for each class")
    if "interval" in values:
        low, high = values["interval"].unbind(-1)
        by.refuse("interval ends below its start", high < low, high, "its lower end first")
    _check_parts(values, stated.unit, bool(n_classes), by)
    if n_classes and given.reference is None and "members" in values:
        members = values["members"]  # [L, M, S, C]
        off = _unlike(members.double().mean(2), values["probs"].double(), members.shape[2])
        expected = "in setting (a) probs, as near as that many models drawn at random come"
        by.refuse("members have another mean than its probs", off, members.mean(2), expected)
    if "highest" in values:
        models = [values["members"].amax(2)] if "members" in values else []
        models += [values["probs"]] if given.reference is None else []
        for least in models:
            below = values["highest"] < least - PROBABILITY
            expected = "the largest probability of any model, no less than their mean"
            by.refuse("highest is below a model's probability", below, values["highest"], expected)


def check_uncertainty(
    stated: Uncertainty, shape: tuple[int, int], n_actions: int, by: Speaker
) -> None:
    """Refuse predictions of another shape, that are not finite, or negative variances.

    Args:
        stated: by the agent.
        shape: ``(L, M)``.
        n_actions: A.
        by: the agent.

    Raises:
        UqbenchError: names the prediction, lane, point and class, and what was expected.
    """
    each = (*shape, n_actions)
    values = {name: value for name, value in vars(stated).items() if value is not None}
    for name, value in values.items():
        if not _is_float(value) or (value.shape if name in VALUES else value.shape[:3]) != each:
            expected = f"floats of shape {each if name in VALUES else (*each, '…')}"
            raise by.refusal(f"uncertainty has a {name} of {form_of(value)} {by.when}", expected)
    atoms, probs = stated.return_atoms, stated.return_probs
    if (atoms is None) != (probs is None) or (
        atoms is not None and probs is not None and atoms.shape != probs.shape
    ):
        found = f"uncertainty has {'no ' * (atoms is None)}return_atoms beside its return_probs"
        raise by.refusal(found, "both, of one shape, or neither")
    for name, value in ((n, x.detach().float()) for n, x in values.items()):
        what = "Q-values are" if name == "mean" else f"{name} is"
        if name in UNBOUNDED:
            by.refuse(f"{what} NaN", value.isnan(), value, "numbers, inf where nothing was seen")
        else:
            by.refuse(f"{what} not finite", ~value.isfinite(), value, "finite numbers")
        if name in VARIANCES:
            negative = value < -ROUNDING * (1 + _largest(value))
            by.refuse(f"{what} negative", negative, value, "a variance, zero or more")
        if name == "epistemic_dof":
            by.refuse(f"{what} not positive", value <= 0, value, "degrees of freedom above zero")
        if name == "return_probs":
            _check_probabilities(name, value, True, by)


def _rounded(
    stated: PredictiveUncertainty, shape: tuple[int, int], n_classes: int, by: Speaker
) -> Iterator[tuple[str, Tensor]]:
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
        fits = _is_float(value) or (name == "classes" and isinstance(value, Tensor))
        if not fits or value.shape != (*shape, *width):
            expected = f"floats of shape {(*shape, *width)}"
            raise by.refusal(f"{name} {by.when} is {form_of(value)}", expected)
        yield name, value.detach().float()
    members, each = stated.members, (*shape, n_classes or 1)
    if members is None:
        return
    if not _is_float(members) or members.shape[1:] != each or not len(members):
        expected = f"floats of shape (S, {str(each)[1:]}"
        raise by.refusal(f"members {by.when} is {form_of(members)}", expected)
    yield "members", members.detach().float().movedim(0, 2)


def _check_probabilities(name: str, value: Tensor, sums: bool, by: Speaker) -> None:
    """Refuse numbers below zero or above one, or that do not sum to one over the last dimension."""
    expected = "probabilities from 0 to 1, a softmax over the last dimension"
    by.refuse(f"{name} are negative", value < 0, value, expected)
    total = value.double().sum(-1)
    if sums:
        off = (total - 1).abs() > PROBABILITY
        by.refuse(f"{name} do not sum to one", off, total, "a sum of 1, within 0.001")
    by.refuse(f"{name} are above one", value > 1 + PROBABILITY, value, expected)


def _check_parts(values: dict[str, Tensor], unit: str, classes: bool, by: Speaker) -> None:
    """Refuse parts that are negative, or whose sum is not the total.

    Each of the three may be rounded to float16, 2⁻¹¹ of itself. Nats are as far off as the
    probabilities that they are computed from.
    """
    total, parts = values["total"], [values["aleatoric"], values["epistemic"]]
    size = total.abs() + parts[0].abs() + parts[1].abs()
    slack = PROBABILITY if unit == "nats" else ROUNDING * (1 + _largest(size))
    names: tuple[str, ...] = () if unit == "return" else ("total", "aleatoric", "epistemic")
    if unit == "nats" and not classes:
        names = ("epistemic",)  # the entropy of a density may be negative, a divergence is not
    for name in names:
        value = values[name]
        negative = value < -slack * (1 + value.abs() if unit == "nats" else 1)
        by.refuse(f"{name} is negative", negative, value, f"{unit}, zero or more")
    off = (total - parts[0] - parts[1]).abs() > slack + PROBABILITY * size
    by.refuse("total is not aleatoric + epistemic", off, total, "their sum, within 0.001")


def _unlike(mean: Tensor, probs: Tensor, count: int) -> Tensor:
    """Points at which the mean of ``count`` models is none that such draws have around ``probs``.

    A mean m of n draws from a law on [0, 1] with mean p has ``P ≤ 2 exp(−n KL(m ‖ p))``, KL between
    coins (Hoeffding 1963, theorem 1). An ensemble's mean is exact but for rounding.
    """
    m, p = mean.clamp(0, 1), probs.clamp(0, 1)
    coins = torch.xlogy(m, m) - torch.xlogy(m, p)
    coins = coins + torch.xlogy(1 - m, 1 - m) - torch.xlogy(1 - m, 1 - p)
    return ((mean - probs).abs() > PROBABILITY) & (count * coins > SURPRISE)


def _largest(value: Tensor) -> Tensor:
    """The largest value of each lane ``[L, 1, …]``: a lane answers for itself."""
    largest = value.nan_to_num(posinf=0.0).flatten(1).amax(1)
    return largest.view(-1, *[1] * (value.dim() - 1))


def _is_float(value: object) -> bool:
    return isinstance(value, Tensor) and value.dtype.is_floating_point


def form_of(value: object) -> str:
    """Dtype and shape of a tensor, the type of anything else."""
    if isinstance(value, Tensor):
        if type(value) not in PLAIN:
            return f"a {type(value).__name__}"
        if value.is_meta or value.layout != torch.strided:
            return f"{value.dtype} {'on meta' if value.is_meta else value.layout}"
        return f"{value.dtype} of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}"


def _problem(n_classes: int) -> str:
    return f"{n_classes} classes" if n_classes else "a regression"


def is_prediction(given: Predictions) -> bool:
    """Whether a prediction of any number of lanes may be scored: a score of another one is none."""
    said = given.predicted
    classes = 0 if said.probs is None else said.probs.shape[-1]
    try:
        if said.total is None:
            return False
        check_prediction(given, (said.total.shape[0], said.total.shape[1]), classes, SCORE)
    except UqbenchError:
        return False
    return True


def is_valid(stated: Uncertainty, known: Tensor | None = None) -> Tensor:
    """Whether each lane's statement may be scored, bool ``[L]``.

    Args:
        stated: ``[L, M, A, …]``.
        known: the actions that count, ``[M, A]`` or ``[L, M, A]`` bool; None for all.
    """
    each = {name: value for name, value in vars(stated).items() if value is not None}
    if not each:
        return torch.tensor(True)
    first = next(iter(each.values()))
    asked = first.new_ones(first.shape[:3], dtype=torch.bool) if known is None else known
    lanes = asked.expand(first.shape[:3])
    valid = [
        _may_be_scored({name: value[lane][which] for name, value in each.items()})
        for lane, which in enumerate(lanes)
    ]
    return torch.tensor(valid, device=first.device)


def _may_be_scored(each: dict[str, Tensor]) -> bool:
    own = Uncertainty(**{name: value[None, :, None] for name, value in each.items()})
    try:
        check_uncertainty(own, (1, len(next(iter(each.values())))), 1, SCORE)
    except UqbenchError:
        return False
    return True
