"""Predictions that somebody has, as arrays in the field's formats, and what each of them says.

An array says more or less of the law of a target: logits are probabilities, samples are an
empirical distribution, members are models, whose spread is no law of a target without their noise.
Everything becomes one :class:`Stated`, whose ``says`` decides which scores there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import entr, logsumexp, softmax

from uqbench.contract.errors import UqbenchError, see, unknown
from uqbench.contract.estimator import Predictions, PredictiveUncertainty
from uqbench.contract.seeding import derive_seed
from uqbench.uncertainty.validity import (
    PROBABILITY,
    ROUNDING,
    Speaker,
    check_prediction,
    check_probabilities,
    is_float,
    numbers,
)
from uqbench_compare.predictions.registered import NORMAL_90, Array

LEAST_POINTS = 20
"""Fewest of a set."""
ATOMS = 200
"""Samples that stand for a climatology."""
FORMS: Mapping[str, tuple[str, ...]] = {
    "targets": ("M", "M, 1", "M, C"), "probs": ("M, C", "M"), "logits": ("M, C", "M", "S, M, C"),
    "mean": ("M", "M, 1"), "std": ("M", "M, 1"), "var": ("M", "M, 1"), "noise": ("M", "M, 1"),
    "samples": ("S, M",), "members": ("S, M, C", "S, M"), "quantiles": ("M, K",),
    "levels": ("K",), "interval": ("M, 2",), "classes": ("M, C",), "score": ("M",),
}  # fmt: skip
"""Shapes of each array: M points, C classes, S samples or members, K levels."""
ONE_OF = ({"probs", "logits"}, {"std", "var", "noise"}, {"samples", "quantiles"})
"""Arrays of which one is enough."""
CLASSES = {"probs", "logits", "classes"}
VALUES = {"mean", "std", "var", "noise", "samples", "quantiles", "interval"}
"""Arrays of classes, and of values; ``members`` may be either, and ``score`` of any."""
NOT_POINTS = {"levels", "samples", "members"}
"""Arrays whose rows are levels or draws."""
OUTSIDE = "outside_"
CENTRAL = (0.05, 0.95)
"""Levels of the ends of a 90 % interval."""


@dataclass(frozen=True)
class Stated(PredictiveUncertainty[Array]):
    """A prediction as arrays state it.

    Attributes:
        quantiles: ``[1, M, K]``, rising; samples in their order.
        levels: of the quantiles; of S samples (k − ½)/S.
        says: the parts of :data:`uqbench_compare.predictions.formats.PARTS` that it has.
        lacks: why it has not some of the others.
    """

    quantiles: Array | None = None
    levels: tuple[float, ...] = ()
    says: frozenset[str] = frozenset()
    lacks: Mapping[str, str] = field(default_factory=dict)


class OfArrays(Speaker):
    """The author of arrays, who has no lanes."""

    def refuse(self, fault: str, wrong: Any, value: Any, expected: str) -> None:
        """Raise where ``wrong`` holds anywhere, both ``[1, M, …]``, with the first such point."""
        if wrong.any():
            _, point, *rest = np.argwhere(wrong)[0].tolist()
            place = f"point {point}" + (f", entry {rest}" if rest else "")
            stated = float(value[(0, point, *rest)])
            raise self.refusal(f"{fault} {self.when}: {stated:.6g} at {place}", expected)


def stated(arrays: Mapping[str, Any], where: str) -> dict[str, Predictions[Array]]:
    """The predictions in arrays, of the set ``test`` and, by keys ``outside_…``, of another.

    Args:
        arrays: by the names of :data:`FORMS`, as :func:`uqbench.score` describes them.
        where: they are from, for errors.

    Raises:
        UqbenchError: an array is unknown, has another shape, or states what no run may; names it.
    """
    for key in arrays:
        if key.removeprefix(OUTSIDE) not in FORMS:
            raise unknown(
                "array", key, [*FORMS, *(OUTSIDE + of for of in FORMS)], f"In {where} there is"
            )
    test = {k: v for k, v in arrays.items() if not k.startswith(OUTSIDE)}
    outside = {k.removeprefix(OUTSIDE): v for k, v in arrays.items() if k.startswith(OUTSIDE)}
    if "targets" not in arrays and not outside:
        raise UqbenchError(
            f"{where}: expected targets [M], classes as whole numbers, or values; or arrays of "
            f"another set (outside_score, outside_probs, …), to be told from these."
        )
    sets = {"test": test, "outside": outside} if outside else {"test": test}
    for name, of in sets.items():
        _check_labels(name, of, where)
    with np.errstate(over="ignore", invalid="ignore"):  # what is infinite then is refused
        found = {
            name: statement(name, where, {k: _array(where, k, v) for k, v in of.items()})
            for name, of in sets.items()
        }
    probs = {name: of.predicted.probs for name, of in found.items()}
    widths = {name: of.shape[-1] for name, of in probs.items() if of is not None}
    if len({*widths.values()}) > 1:
        raise UqbenchError(f"{where}: expected as many classes in each set; got {widths}.")
    return found


def _check_labels(name: str, arrays: Mapping[str, Any], where: str) -> None:
    """Refuse labelled arrays whose labels say another order of points than their places do.

    Raises:
        UqbenchError: indexes of pandas differ, or columns are numbered otherwise.
    """
    own_rows = {k: v for k, v in arrays.items() if k not in NOT_POINTS}
    labels = {k: list(v.index) for k, v in own_rows.items() if hasattr(v, "iloc")}
    first = next(iter(labels), "")
    for key, own in labels.items():
        if len(own) == len(labels[first]) and own != labels[first]:
            raise UqbenchError(
                f"{where}: the index of {key} is not that of {first} in the set {name!r}, so that "
                f"rows of one number would not be one point: align them, or give .to_numpy()."
            )
        columns = list(getattr(arrays[key], "columns", ()))
        rising = [*range(len(columns))]
        if key in CLASSES and columns != rising and {*columns} == {*rising}:
            raise UqbenchError(
                f"{where}: the columns of {key} are {columns}; expected class k in column k: "
                f"{key}[sorted({key})], or .to_numpy() where their names say nothing."
            )


def statement(name: str, where: str, own: Mapping[str, Array]) -> Predictions[Array]:
    """One set's predictions, checked as a run's are.

    Raises:
        UqbenchError: they contradict each other, or state what no run may.
    """
    by = OfArrays("statement", where, f"for the set {name!r}", see("wrong-prediction"))
    for alike in ONE_OF:
        if len(both := sorted(alike & {*own})) > 1:
            raise UqbenchError(f"{where}: expected one of {', '.join(both)} of the set {name!r}.")
    count = _points(own, where, name)
    members = own.get("members")
    of_classes = bool(CLASSES & {*own}) or (members is not None and members.ndim == 3)
    if of_classes and (values := sorted(VALUES & {*own})):
        raise UqbenchError(
            f"{where}: {', '.join(values)} beside probabilities of the set {name!r}: expected "
            f"those of classes or those of values, not both."
        )
    said = _classes(own, where, by) if of_classes else _values(own, count, by)
    targets, n_classes = own.get("targets"), 0 if said.probs is None else said.probs.shape[-1]
    if targets is not None:
        said = replace(said, says=said.says | {"targets"})
        targets = _targets(targets, n_classes, by)
    check_prediction(Predictions(said), (1, count), n_classes, by)
    return Predictions(said, targets)


def climatology(one: Predictions[Array], where: str) -> Predictions[Array] | None:
    """The best constant of its kind: shares of the classes, or the targets' own distribution."""
    said, targets = one.predicted, one.targets
    assert isinstance(said, Stated)
    if targets is None:
        return None
    count = targets.shape[1]
    if said.probs is not None:
        shares = np.bincount(targets[0], minlength=said.probs.shape[-1]) / count
        constant = np.broadcast_to(shares, (count, len(shares)))
        return statement("test", where, {"probs": constant, "targets": targets[0]})
    known, constant = targets[0], np.ones((count, 1))
    own = {"targets": known}
    if "values" in said.says:
        own |= {"mean": known.mean() * constant[:, 0]}
    if "normal" in said.says:
        own |= {"var": known.var() * constant[:, 0]}
    elif "law" in said.says:
        own |= {"samples": (constant * np.quantile(known, middles(ATOMS))).T}
    elif said.quantiles is not None:
        levels = np.array(said.levels)
        own |= {"quantiles": constant * np.quantile(known, levels), "levels": levels}
    elif said.interval is not None:
        own |= {"interval": constant * np.quantile(known, CENTRAL)}
    return statement("test", where, own) if len(own) > 1 else None


def drawn(one: Predictions[Array], number: int) -> Predictions[Array] | None:
    """The predictions with targets drawn from them; None where they say no law of these."""
    generator, said = generator_of("targets", number), one.predicted
    assert isinstance(said, Stated)
    if one.targets is None:
        return None
    if said.probs is not None:
        mass = said.probs[0].clip(0).cumsum(-1)
        u = mass[:, -1:] * generator.random((len(mass), 1))
        own = (mass[:, :-1] <= u).sum(-1)[None]
    elif "normal" in said.says and said.mean is not None:
        noise = generator.standard_normal(said.mean.shape)
        center, variance = said.mean, said.total
        if said.members is not None:
            which = generator.integers(len(said.members), size=said.mean.shape)
            center = np.take_along_axis(said.members[..., 0], which[None], 0)[0]
            variance = said.aleatoric
        own = center + np.sqrt(variance.clip(0)) * noise
    elif "law" in said.says and said.quantiles is not None:
        _, count, atoms = said.quantiles.shape
        which = generator.integers(atoms, size=(1, count, 1))
        own = np.take_along_axis(said.quantiles, which, -1)[..., 0]
    else:
        return None
    return replace(one, targets=own)


def generator_of(*names: str | int) -> np.random.Generator:
    """Random numbers that follow from the names."""
    return np.random.Generator(np.random.Philox(derive_seed(*names)))


def middles(count: int) -> Array:
    """The levels (k − ½)/count."""
    return (np.arange(count) + 0.5) / count


def of_points(one: Predictions[Array], kept: Array) -> Predictions[Array]:
    """The predictions for some of the points."""
    values = {name: of for name, of in vars(one.predicted).items() if isinstance(of, np.ndarray)}
    some: dict[str, Any] = {
        k: v[:, :, kept] if k == "members" else v[:, kept] for k, v in values.items()
    }
    targets = None if one.targets is None else one.targets[:, kept]
    return Predictions(replace(one.predicted, **some), targets)


def _array(where: str, name: str, value: Any) -> Array:
    """An array in float64, in one of its forms; a column ``[M, 1]`` is ``[M]``."""
    try:
        if np.ma.is_masked(value):
            raise TypeError("got masked entries: leave these points out of every array")
        if hasattr(value, "detach"):
            value = (value.double() if is_float(value) else value).detach().cpu()
        plain = np.asarray(value)
        if plain.dtype.kind not in "biuf":
            raise TypeError(f"got {plain.dtype}")
        found = plain.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UqbenchError(f"{where}: expected numbers in {name}; {error}") from None
    forms = FORMS[name.removeprefix(OUTSIDE)]
    for form in (form.split(", ") for form in forms):
        if found.ndim == len(form) and (not form[-1].isdigit() or found.shape[-1] == int(form[-1])):
            return found[:, 0] if form[-1] == "1" else found
    raise UqbenchError(
        f"{where}: {name} is of shape {found.shape}; expected [{'] or ['.join(forms)}]."
    )


def _points(own: Mapping[str, Array], where: str, name: str) -> int:
    """How many points all arrays of a set have."""
    counts = {
        key: int(of.shape[key in ("members", "samples") or of.ndim == 3])
        for key, of in own.items()
        if key != "levels"
    }
    if len({*counts.values()}) > 1:
        said = ", ".join(f"{key} {own[key].shape}" for key in counts)
        raise UqbenchError(
            f"{where}: expected as many points in each array of the set {name!r}; got {said}."
        )
    count = max(counts.values(), default=0)
    if count < LEAST_POINTS:
        raise UqbenchError(
            f"{where}: expected at least {LEAST_POINTS} points of the set {name!r}; got {count}."
        )
    return count


def _targets(given: Array, n_classes: int, by: Speaker) -> Array:
    """Targets ``[1, M]``, of classes as whole numbers."""
    if given.ndim == 2:
        hot = ((given == 0) | (given == 1)).all(1) & (given.sum(1) == 1)
        by.refuse("targets are no class", ~hot[None], given.sum(1)[None], "one 1 in each row")
        given = given.argmax(1)
    given = given[None]
    by.refuse("targets are not finite", ~np.isfinite(numbers(given)), given, "finite numbers")
    if not n_classes:
        return given
    wrong = (given != given.round()) | (given < 0) | (given >= n_classes)
    expected = f"whole numbers, 0 to {n_classes - 1}"
    by.refuse("targets are no class", wrong, given, expected)
    return given.astype(np.int64)


def _classes(own: Mapping[str, Array], where: str, by: Speaker) -> Stated:
    """Statement on classes."""
    probs, members, parts = own.get("probs"), own.get("members"), dict[str, Any]()
    if (logits := own.get("logits")) is not None:
        points = logits[None] if logits.ndim < 3 else logits.swapaxes(0, 1)[None]
        by.refuse("logits are no numbers", ~(points < np.inf), points, "numbers, or -inf")
        sums = abs(logits.sum(-1) - 1) < PROBABILITY
        if logits.ndim > 1 and sums.all() and (logits >= 0).all():
            found = "logits are probabilities: none is negative, and all rows sum to one"
            raise by.refusal(found, "these as probs, or their logarithms")
        if logits.ndim == 1:
            logits = np.stack([0 * logits, logits], -1)
        members = softmax(logits, -1) if logits.ndim == 3 else members
        probs = softmax(logits, -1) if logits.ndim == 2 else probs
        energy = -logsumexp(logits, -1)
        parts["energy"] = (energy.mean(0) if energy.ndim == 2 else energy)[None]
    if probs is not None and probs.ndim == 1:
        probs = np.stack([1 - probs, probs], -1)
    if probs is None and members is not None:
        probs = members.mean(0)
    if probs is None:
        raise UqbenchError(f"{where}: expected probs, logits or members beside classes.")
    for name, one in (("probs", probs), ("members", members)):
        if one is not None:
            values = one[None] if one.ndim < 3 else one.swapaxes(0, 1)[None]
            by.refuse(f"{name} are not finite", ~np.isfinite(values), values, "finite numbers")
            check_probabilities(name, values, True, by)
    total = entr(probs).sum(-1)[None]
    aleatoric = total if members is None else entr(members).sum(-1).mean(0)[None]
    parts |= {name: own[name][None] for name in ("classes", "score") if name in own}
    stack = None if members is None else members[:, None]
    says = {"probs", "density", "point", "order", "set", "models", *parts}
    says |= {"members"} & {*own} | ({"members"} if stack is not None else set())
    epistemic = total - aleatoric
    return Stated(
        total, aleatoric, epistemic, probs[None], "nats", members=stack, says=frozenset(says),
        **parts,
    )  # fmt: skip


def _values(own: Mapping[str, Array], count: int, by: Speaker) -> Stated:
    """Statement on values, or of a detector alone."""
    zero, says, lacks = np.zeros(count), set[str](), dict[str, str]()
    mean, members, interval = (own.get(name) for name in ("mean", "members", "interval"))
    variance, noise = own.get("var"), own.get("noise")
    if (std := own.get("std")) is not None:
        by.refuse("std is negative", std[None] < 0, std[None], "standard deviations, zero or more")
        variance = np.square(std)
    quantiles, levels = own.get("quantiles"), own.get("levels")
    if (quantiles is None) != (levels is None):
        raise by.refusal("quantiles and levels are not both there", "both, [M, K] and [K]")
    if (samples := own.get("samples")) is not None:
        quantiles, levels = np.sort(samples, 0).T, middles(len(samples))
        mean = samples.mean(0) if mean is None else mean
        interval = np.quantile(samples, CENTRAL, 0).T
        says |= {"law"}
    spread = zero if members is None else members.var(0)
    if mean is None and members is not None:
        mean = members.mean(0)
    if quantiles is not None and levels is not None:
        quantiles, levels = _rising(quantiles, levels, by)
        says |= {"quantiles"}
        at = levels.tolist()
        if interval is None and {*CENTRAL} <= {*at}:
            interval = quantiles[:, [at.index(level) for level in CENTRAL]]
    total, aleatoric = variance, None
    if total is None and noise is not None:
        total, aleatoric = noise + spread, noise
    by_law = total is not None
    if total is None and samples is not None:
        total = samples.var(0)
    if total is None and members is not None:
        total, aleatoric = spread, zero
    if total is None and interval is not None:
        total = np.square((interval[:, 1] - interval[:, 0]) / (2 * NORMAL_90))
    says |= {"order"} if total is not None else set()
    total = zero if total is None else total
    aleatoric = total - spread if aleatoric is None else aleatoric
    if mean is not None:
        says |= {"values", "point"} if "order" in says else {"values"}
    if mean is not None and by_law:
        none = int((total <= 0).sum()) or (members is not None) * int((aleatoric <= 0).sum())
        if none:
            lacks |= dict.fromkeys(
                ("density", "models"), f"a variance above 0 at all points; {none} have none"
            )
        says |= {"normal", "set", "law"} | (set() if none else {"density", "models"})
    elif members is not None:
        why = "the noise of targets around the members' means (noise, or var for the total)"
        lacks |= dict.fromkeys(("density", "models", "set", "normal"), why)
        says |= {"law"}
    elif samples is not None:
        lacks |= dict.fromkeys(("density", "models"), "a density, which samples have not")
    says |= {"set", "interval"} if interval is not None or "normal" in says else set()
    says |= {"score"} if "score" in own else set()
    says |= {"members"} if members is not None else set()
    if not says:
        raise by.refusal(
            f"arrays say no law: {', '.join(own)}",
            "probs, logits, mean with std or var, members, samples, quantiles, interval or score",
        )
    each = {"mean": mean, "interval": interval, "score": own.get("score"), "quantiles": quantiles}
    parts: dict[str, Any] = {name: of[None] for name, of in each.items() if of is not None}
    stack = None if members is None else members[:, None, :, None]
    total, aleatoric = total[None], aleatoric[None]
    return Stated(
        total, aleatoric, total - aleatoric, None, "variance", members=stack,
        levels=() if levels is None else tuple(levels.tolist()), says=frozenset(says), lacks=lacks,
        **parts,
    )  # fmt: skip


def _rising(quantiles: Array, levels: Array, by: Speaker) -> tuple[Array, Array]:
    """Quantiles by rising levels, checked."""
    if len(levels) != quantiles.shape[1] or not ((levels > 0) & (levels < 1)).all():
        found = f"levels are {levels.tolist()} of {quantiles.shape[1]} quantiles"
        raise by.refusal(found, "a number between 0 and 1 for each")
    if len({*levels.tolist()}) < len(levels):
        raise by.refusal(f"levels are {levels.tolist()}, one of them twice", "each level once")
    order = levels.argsort()
    quantiles, levels = quantiles[:, order], levels[order]
    by.refuse("quantiles are not finite", ~np.isfinite(quantiles)[None], quantiles[None], "numbers")
    falls = (np.diff(quantiles) < -ROUNDING * (1 + abs(quantiles).max()))[None]
    by.refuse("quantiles fall", falls, quantiles[None, :, 1:], "no less at a higher level")
    return quantiles, levels
