"""Predictions that somebody has, as arrays: what they say, scored with intervals over points.

A run's data sets are its unit of inference; of one stored set the points are. The interval is that
of the jackknife that leaves out a group of points at a time (Shao & Wu 1989), by Student's t. A
calibrated method does not score as well as the truth: beside each score stands what it comes to
where the targets are drawn from the predictions themselves (Bröcker & Smith 2007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.errors import UqbenchError, see, unknown
from uqbench.contract.estimator import Predictions, PredictiveUncertainty
from uqbench.contract.seeding import derive_seed
from uqbench.contract.specs import ScoreSpec
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.quantiles import t_quantile
from uqbench.uncertainty.predictions import score_of
from uqbench.uncertainty.problems import check_targets
from uqbench.uncertainty.validity import ROUNDING, Speaker, check_prediction

GROUPS, DRAWS, TEN = 50, 20, 10
"""Groups of points that are left out, draws of targets, and points that are scored together."""
NORMAL_90 = 1.6448536269514722
FORMS: Mapping[str, tuple[str, ...]] = {
    "probs": ("M, C",), "mean": ("M",), "var": ("M",), "members": ("S, M, C", "S, M"),
    "interval": ("M, 2",), "classes": ("M, C",), "score": ("M",), "targets": ("M",),
}  # fmt: skip
OUTSIDE = "outside_"
Given = Mapping[str, Predictions]


def stated(arrays: Mapping[str, Any], where: str) -> dict[str, Predictions]:
    """The predictions in arrays, of the set ``test`` and, by keys ``outside_…``, of another.

    Args:
        arrays: ``probs`` ``[M, C]``, or ``mean`` and ``var`` (the total variance) ``[M]``, or
            ``interval`` ``[M, 2]`` of 90 %; ``members`` ``[S, M, C]``, of a regression ``[S, M]``,
            which say how much of it is epistemic; ``classes`` ``[M, C]`` of a 90 % set, ``score``
            ``[M]``, how foreign a point is; ``targets`` ``[M]``.
        where: they are from, for errors.

    Raises:
        UqbenchError: an array is unknown, has another shape, or states what no run may; names it.
    """
    for key in arrays:
        if key.removeprefix(OUTSIDE) not in FORMS:
            raise unknown(f"array of {where}", key, [*FORMS, *(OUTSIDE + of for of in FORMS)])
    sets = {"test": {k: v for k, v in arrays.items() if not k.startswith(OUTSIDE)}}
    outside = {k.removeprefix(OUTSIDE): v for k, v in arrays.items() if k.startswith(OUTSIDE)}
    sets |= {"outside": outside} if outside else {}
    if "targets" not in arrays:
        raise UqbenchError(f"{where}: expected targets [M], classes as whole numbers, or values.")
    return {
        name: _set(name, where, {k: _tensor(where, k, v) for k, v in of.items()})
        for name, of in sets.items()
    }


def scored(spec: ScoreSpec, given: Given) -> tuple[float, float, float, float]:
    """A score, its 95 % interval, and that of a calibrated method; NaN where there is none."""
    value, none = score_of(spec, given), math.nan
    if math.isnan(value):
        return none, none, none, none
    joint = "permutation" in spec.without  # neighbors count: whole groups of ten stay together
    labels = {name: _labels(of.predicted.total.shape[1], joint) for name, of in given.items()}
    count = min(int(of.max()) for of in labels.values()) + 1
    left = [
        score_of(spec, {name: _of_points(of, labels[name] != k) for name, of in given.items()})
        for k in range(count)
    ]
    error = float(np.std(left)) * math.sqrt(count - 1)
    half = t_quantile(1 - ALPHA / 2, count - 1) * error if error > ROUNDING * abs(value) else none
    drawn = [score_of(spec, {**given, "test": _drawn(given["test"], k)}) for k in range(DRAWS)]
    known = none if {*drawn} == {value} else float(np.mean(drawn))
    return value, value - half, value + half, known


def _labels(count: int, joint: bool) -> Tensor:
    """The group of each point: fifty, or fewer of a tenth of the points."""
    order = torch.arange(count)
    if not joint:
        generator = torch.Generator().manual_seed(derive_seed("points") % 2**63)
        order = torch.randperm(count, generator=generator)
    return (order // (TEN if joint else 1)) % max(2, min(GROUPS, count // TEN))


def _of_points(one: Predictions, kept: Tensor) -> Predictions:
    values = {name: of for name, of in vars(one.predicted).items() if isinstance(of, Tensor)}
    some: dict[str, Any] = {
        k: v[:, :, kept] if k == "members" else v[:, kept] for k, v in values.items()
    }
    targets = None if one.targets is None else one.targets[:, kept]
    return Predictions(replace(one.predicted, **some), targets)


def _tensor(where: str, name: str, value: Any) -> Tensor:
    try:
        plain = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
        if plain.dtype.kind not in "biuf":
            raise TypeError(f"got {plain.dtype}")
        found = torch.from_numpy(plain.astype(np.float64))
    except (TypeError, ValueError, RuntimeError) as error:
        raise UqbenchError(f"{where}: expected numbers in {name}; {error}") from None
    forms = FORMS[name.removeprefix(OUTSIDE)]
    if found.dim() not in [form.count(",") + 1 for form in forms]:
        raise UqbenchError(
            f"{where}: {name} is of shape {tuple(found.shape)}; expected [{'] or ['.join(forms)}]."
        )
    return found


def _set(name: str, where: str, own: dict[str, Tensor]) -> Predictions:
    """One set's predictions, checked as a run's are."""
    members, targets = own.get("members"), own.get("targets")
    values = {k: v.double()[None] for k, v in own.items() if k not in ("members", "targets")}
    stack = None if members is None else members.double()[:, None]
    if stack is not None:
        values.setdefault("probs" if stack.dim() == 4 else "mean", stack.mean(0))
    if "probs" in values and (of_values := sorted({"var", "interval", "mean"} & values.keys())):
        raise UqbenchError(
            f"{where}: {', '.join(of_values)} beside probabilities of the set {name!r}: expected "
            f"those of classes or those of values, not both."
        )
    if "interval" in own and own["interval"].shape[-1] != 2:
        found = tuple(own["interval"].shape)
        raise UqbenchError(f"{where}: interval is of shape {found}; expected [M, 2].")
    if "probs" in values:
        total = _entropy(values["probs"])
        aleatoric = total if stack is None else _entropy(stack).mean(0)
    elif stack is not None or "var" in values or "interval" in values:
        low, high = values.get("interval", torch.zeros(2)).unbind(-1)
        spread = torch.zeros(()) if stack is None else stack.var(0, correction=0)
        total = values.pop("var", ((high - low) / (2 * NORMAL_90)).square() + spread)
        aleatoric, stack = total - spread, None if stack is None else stack[..., None]
    else:
        raise UqbenchError(
            f"{where}: expected probs, members, mean and var, or interval of the set {name!r}; it "
            f"has {', '.join(own)}."
        )
    unit: Literal["nats", "variance"] = "nats" if "probs" in values else "variance"
    parts: dict[str, Any] = {"probs": None, **values, "members": stack}
    said = PredictiveUncertainty(total, aleatoric, total - aleatoric, unit=unit, **parts)
    n_classes = 0 if said.probs is None else said.probs.shape[-1]
    by = Speaker("statement", where, f"for the set {name!r}", see("wrong-prediction"))
    if targets is not None:
        given = targets[None]
        targets = given.long() if n_classes else given.float()
        check_targets(targets, (1, *total.shape[1:]), n_classes, by)
        split = (given != targets) & bool(n_classes)
        by.refuse("targets are no class", split, given, "whole numbers")
        targets = targets if n_classes else targets.double()
    check_prediction(Predictions(said), (1, total.shape[-1]), n_classes, by)
    if total.shape[-1] < 2 * TEN:
        raise UqbenchError(f"{where}: expected at least {2 * TEN} points of the set {name!r}.")
    return Predictions(said, targets)


def _entropy(probs: Tensor) -> Tensor:
    """Entropy over the last dimension, in nats."""
    of: Tensor = torch.special.entr(probs).sum(-1)
    return of


def _drawn(one: Predictions, number: int) -> Predictions:
    """The predictions with targets drawn from them: classes, or normal values."""
    generator, said = torch.Generator(), one.predicted
    generator.manual_seed(derive_seed("targets", number) % 2**63)
    if said.probs is not None:
        drawn = torch.multinomial(said.probs[0].clamp(min=0), 1, generator=generator)
        return replace(one, targets=drawn.T)
    if said.mean is None:
        return one
    noise = torch.randn(said.mean.shape, generator=generator, dtype=torch.float64)
    return replace(one, targets=said.mean + said.total.clamp(min=0).sqrt() * noise)
