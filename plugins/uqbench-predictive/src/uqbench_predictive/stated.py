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
import torch
from torch import Tensor

from uqbench.contract.errors import UqbenchError, see, unknown
from uqbench.contract.estimator import Predictions, PredictiveUncertainty
from uqbench.contract.seeding import derive_seed
from uqbench.uncertainty.problems import check_targets
from uqbench.uncertainty.validity import ROUNDING, Speaker, check_prediction
from uqbench_predictive.scores.registered import NORMAL_90

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
OUTSIDE = "outside_"
CENTRAL = (0.05, 0.95)
"""Levels of the ends of a 90 % interval."""
Given = Mapping[str, Predictions]


@dataclass(frozen=True)
class Stated(PredictiveUncertainty):
    """A prediction as arrays state it.

    Attributes:
        quantiles: ``[1, M, K]``, rising; samples in their order.
        levels: of the quantiles; of S samples (k − ½)/S.
        says: the parts of :data:`uqbench_predictive.scores.formats.PARTS` that it has.
        lacks: why it has not some of the others.
    """

    quantiles: Tensor | None = None
    levels: tuple[float, ...] = ()
    says: frozenset[str] = frozenset()
    lacks: Mapping[str, str] = field(default_factory=dict)


class OfArrays(Speaker):
    """The author of arrays, who has no lanes."""

    def refuse(self, fault: str, wrong: Tensor, value: Tensor, expected: str) -> None:
        """Raise where ``wrong`` holds anywhere, both ``[1, M, …]``, with the first such point."""
        if wrong.any():
            _, point, *rest = wrong.nonzero()[0].tolist()
            place = f"point {point}" + (f", entry {rest}" if rest else "")
            stated = float(value[(0, point, *rest)])
            raise self.refusal(f"{fault} {self.when}: {stated:.6g} at {place}", expected)


def stated(arrays: Mapping[str, Any], where: str) -> dict[str, Predictions]:
    """The predictions in arrays, of the set ``test`` and, by keys ``outside_…``, of another.

    Args:
        arrays: by the names of :data:`FORMS`, as :func:`uqbench.score` describes them.
        where: they are from, for errors.

    Raises:
        UqbenchError: an array is unknown, has another shape, or states what no run may; names it.
    """
    for key in arrays:
        if key.removeprefix(OUTSIDE) not in FORMS:
            raise unknown(f"array of {where}", key, [*FORMS, *(OUTSIDE + of for of in FORMS)])
    test = {k: v for k, v in arrays.items() if not k.startswith(OUTSIDE)}
    outside = {k.removeprefix(OUTSIDE): v for k, v in arrays.items() if k.startswith(OUTSIDE)}
    if "targets" not in arrays and not outside:
        raise UqbenchError(
            f"{where}: expected targets [M], classes as whole numbers, or values; or arrays of "
            f"another set (outside_score, outside_probs, …), to be told from these."
        )
    sets = {"test": test, "outside": outside} if outside else {"test": test}
    return {
        name: statement(name, where, {k: _tensor(where, k, v) for k, v in of.items()})
        for name, of in sets.items()
    }


def statement(name: str, where: str, own: Mapping[str, Tensor]) -> Predictions:
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
    of_classes = bool(CLASSES & {*own}) or (members is not None and members.dim() == 3)
    if of_classes and (values := sorted(VALUES & {*own})):
        raise UqbenchError(
            f"{where}: {', '.join(values)} beside probabilities of the set {name!r}: expected "
            f"those of classes or those of values, not both."
        )
    said = _classes(own, where) if of_classes else _values(own, count, by)
    targets, n_classes = own.get("targets"), 0 if said.probs is None else said.probs.shape[-1]
    if targets is not None:
        said = replace(said, says=said.says | {"targets"})
        targets = _targets(targets, count, n_classes, by)
    check_prediction(Predictions(said), (1, count), n_classes, by)
    return Predictions(said, targets)


def climatology(one: Predictions, where: str) -> Predictions | None:
    """The best constant of its kind: shares of the classes, or the targets' own distribution."""
    said, targets = one.predicted, one.targets
    assert isinstance(said, Stated)
    if targets is None:
        return None
    count = targets.shape[1]
    if said.probs is not None:
        shares = targets[0].bincount(minlength=said.probs.shape[-1]).double() / count
        return statement("test", where, {"probs": shares.expand(count, -1), "targets": targets[0]})
    known, constant = targets[0], torch.ones(count, 1, dtype=torch.float64)
    own = {"targets": known}
    if "values" in said.says:
        own |= {"mean": known.mean() * constant[:, 0]}
    if "normal" in said.says:
        own |= {"var": known.var(correction=0) * constant[:, 0]}
    elif "law" in said.says:
        middles = (torch.arange(ATOMS, dtype=torch.float64) + 0.5) / ATOMS
        own |= {"samples": (constant * torch.quantile(known, middles)).T}
    elif said.quantiles is not None:
        levels = torch.tensor(said.levels, dtype=torch.float64)
        own |= {"quantiles": constant * torch.quantile(known, levels), "levels": levels}
    elif said.interval is not None:
        ends = torch.quantile(known, torch.tensor(CENTRAL, dtype=torch.float64))
        own |= {"interval": constant * ends}
    return statement("test", where, own) if len(own) > 1 else None


def drawn(one: Predictions, number: int) -> Predictions | None:
    """The predictions with targets drawn from them; None where they say no law of these."""
    generator, said = torch.Generator(), one.predicted
    assert isinstance(said, Stated)
    generator.manual_seed(derive_seed("targets", number) % 2**63)
    if one.targets is None:
        return None
    if said.probs is not None:
        own = torch.multinomial(said.probs[0].clamp(min=0), 1, generator=generator).T
    elif "normal" in said.says and said.mean is not None:
        noise = torch.randn(said.mean.shape, generator=generator, dtype=torch.float64)
        center, variance = said.mean, said.total
        if said.members is not None:
            which = torch.randint(len(said.members), said.mean.shape, generator=generator)
            center = said.members[..., 0].gather(0, which[None])[0]
            variance = said.aleatoric
        own = center + variance.clamp(min=0).sqrt() * noise
    elif "law" in said.says and said.quantiles is not None:
        _, count, atoms = said.quantiles.shape
        which = torch.randint(atoms, (1, count, 1), generator=generator)
        own = said.quantiles.gather(-1, which)[..., 0]
    else:
        return None
    return replace(one, targets=own)


def of_points(one: Predictions, kept: Tensor) -> Predictions:
    """The predictions for some of the points."""
    values = {name: of for name, of in vars(one.predicted).items() if isinstance(of, Tensor)}
    some: dict[str, Any] = {
        k: v[:, :, kept] if k == "members" else v[:, kept] for k, v in values.items()
    }
    targets = None if one.targets is None else one.targets[:, kept]
    return Predictions(replace(one.predicted, **some), targets)


def _tensor(where: str, name: str, value: Any) -> Tensor:
    """An array in float64, in one of its forms; a column ``[M, 1]`` is ``[M]``."""
    try:
        plain = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
        if plain.dtype.kind not in "biuf":
            raise TypeError(f"got {plain.dtype}")
        found = torch.from_numpy(plain.astype(np.float64))
    except (TypeError, ValueError, RuntimeError) as error:
        raise UqbenchError(f"{where}: expected numbers in {name}; {error}") from None
    forms = FORMS[name.removeprefix(OUTSIDE)]
    for form in (form.split(", ") for form in forms):
        if found.dim() == len(form) and (
            not form[-1].isdigit() or found.shape[-1] == int(form[-1])
        ):
            return found[:, 0] if form[-1] == "1" else found
    raise UqbenchError(
        f"{where}: {name} is of shape {tuple(found.shape)}; expected [{'] or ['.join(forms)}]."
    )


def _points(own: Mapping[str, Tensor], where: str, name: str) -> int:
    """How many points all arrays of a set have."""
    counts = {
        key: int(of.shape[key in ("members", "samples") or of.dim() == 3])
        for key, of in own.items()
        if key != "levels"
    }
    if len({*counts.values()}) > 1:
        said = ", ".join(f"{key} {tuple(own[key].shape)}" for key in counts)
        raise UqbenchError(
            f"{where}: expected as many points in each array of the set {name!r}; got {said}."
        )
    count = max(counts.values(), default=0)
    if count < LEAST_POINTS:
        raise UqbenchError(
            f"{where}: expected at least {LEAST_POINTS} points of the set {name!r}; got {count}."
        )
    return count


def _targets(given: Tensor, count: int, n_classes: int, by: Speaker) -> Tensor:
    """Targets ``[1, M]``, of classes as whole numbers."""
    if given.dim() == 2:
        hot = ((given == 0) | (given == 1)).all(1) & (given.sum(1) == 1)
        by.refuse("targets are no class", ~hot[None], given.sum(1)[None], "one 1 in each row")
        given = given.argmax(1).double()
    given = given[None]
    targets = given.long() if n_classes else given.float()
    check_targets(targets, (1, count), n_classes, by)
    split = (given != targets) & bool(n_classes)
    by.refuse("targets are no class", split, given, "whole numbers")
    return targets if n_classes else given


def _classes(own: Mapping[str, Tensor], where: str) -> Stated:
    """Statement on classes."""
    probs, members, parts = own.get("probs"), own.get("members"), dict[str, Any]()
    if (logits := own.get("logits")) is not None:
        if logits.dim() == 1:
            logits = torch.stack([torch.zeros_like(logits), logits], -1)
        members = logits.softmax(-1) if logits.dim() == 3 else members
        probs = logits.softmax(-1) if logits.dim() == 2 else probs
        energy = -logits.logsumexp(-1)
        parts["energy"] = (energy.mean(0) if energy.dim() == 2 else energy)[None]
    if probs is not None and probs.dim() == 1:
        probs = torch.stack([1 - probs, probs], -1)
    if probs is None and members is not None:
        probs = members.mean(0)
    if probs is None:
        raise UqbenchError(f"{where}: expected probs, logits or members beside classes.")
    total = _entropy(probs)[None]
    aleatoric = total if members is None else _entropy(members).mean(0)[None]
    parts |= {name: own[name][None] for name in ("classes", "score") if name in own}
    stack = None if members is None else members[:, None]
    says = {"probs", "density", "point", "order", "set", "models", *parts}
    says |= {"members"} & {*own} | ({"members"} if stack is not None else set())
    epistemic = total - aleatoric
    return Stated(
        total, aleatoric, epistemic, probs[None], "nats", members=stack, says=frozenset(says),
        **parts,
    )  # fmt: skip


def _values(own: Mapping[str, Tensor], count: int, by: Speaker) -> Stated:
    """Statement on values, or of a detector alone."""
    zero, says, lacks = torch.zeros(count, dtype=torch.float64), set[str](), dict[str, str]()
    mean, members, interval = (own.get(name) for name in ("mean", "members", "interval"))
    variance, noise = own.get("var"), own.get("noise")
    if (std := own.get("std")) is not None:
        by.refuse("std is negative", std[None] < 0, std[None], "standard deviations, zero or more")
        variance = std.square()
    quantiles, levels = own.get("quantiles"), own.get("levels")
    if (quantiles is None) != (levels is None):
        raise by.refusal("quantiles and levels are not both there", "both, [M, K] and [K]")
    if (samples := own.get("samples")) is not None:
        quantiles = samples.sort(0).values.T
        levels = (torch.arange(len(samples), dtype=torch.float64) + 0.5) / len(samples)
        mean = samples.mean(0) if mean is None else mean
        interval = torch.quantile(samples, torch.tensor(CENTRAL).double(), 0).T
        says |= {"law"}
    spread = zero if members is None else members.var(0, correction=0)
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
        total = samples.var(0, correction=0)
    if total is None and members is not None:
        total, aleatoric = spread, zero
    if total is None and interval is not None:
        total = ((interval[:, 1] - interval[:, 0]) / (2 * NORMAL_90)).square()
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


def _rising(quantiles: Tensor, levels: Tensor, by: Speaker) -> tuple[Tensor, Tensor]:
    """Quantiles by rising levels, checked."""
    if len(levels) != quantiles.shape[1] or not ((levels > 0) & (levels < 1)).all():
        found = f"levels are {levels.tolist()} of {quantiles.shape[1]} quantiles"
        raise by.refusal(found, "a number between 0 and 1 for each")
    order = levels.argsort()
    quantiles, levels = quantiles[:, order], levels[order]
    by.refuse("quantiles are not finite", ~quantiles.isfinite()[None], quantiles[None], "numbers")
    falls = (quantiles.diff(dim=1) < -ROUNDING * (1 + quantiles.abs().amax()))[None]
    by.refuse("quantiles fall", falls, quantiles[None, :, 1:], "no less at a higher level")
    return quantiles, levels


def _entropy(probs: Tensor) -> Tensor:
    """Entropy over the last dimension, in nats."""
    of: Tensor = torch.special.entr(probs).sum(-1)
    return of
