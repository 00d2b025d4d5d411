"""Scores of a run's stored predictions of Q, its own and those of controls.

A control states the method's own means, with widths that know nothing of the point: zero, a
constant, its own widths in another order, or what the means alone tell: on MinAtar errors grow with
the distance of a mean from the average, and below a state's greatest mean, as much as with any
width that was stated. Only what a method's widths are worth beyond these is a skill; a coverage of
90 % is none. A control sees what a method sees: its size is the best one in the *other* runs of the
task, whose worlds are others. The method's own widths are scored so, too: what their form is worth
whatever their size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from statistics import NormalDist

import numpy as np
import torch
from torch import Tensor

from uqbench.results.tables import Columns
from uqbench.suites.controls import DIFFERENCES, ONE_SIZE, SIZED, START_BIAS
from uqbench.suites.metrics import TRUTH_ERROR, Metric
from uqbench.uncertainty import epistemic

SEED = 0
"""The seed of the order of shuffled widths."""


def stored_scores(tables: Sequence[Columns | None]) -> list[dict[str, float | None]]:
    """Scores of what the runs of a cell store of their queries, by statistic.

    Nothing of a run without predictions of Q; None where a score is no number.

    Args:
        tables: ``predictions.parquet`` of each run.
    """
    asked = [t if t and "truth_se" in t and len(t["step"]) else None for t in tables]
    known = [_of_run(columns) for columns in asked if columns is not None]
    for control, stated in controls([(last, visits) for _, last, visits in known]):
        for (found, *_), one in zip(known, stated, strict=True):
            own = {"correlation": correlation(one), "coverage_90": _coverage(one)}
            scores = epistemic.score_predictions(one) | own
            found |= {f"queries/{control}/{name}": value for name, value in scores.items()}
    digits = iter({n: float(f"{x:.6g}") for n, x in found.items()} for found, *_ in known)
    none = [{} if columns is None else next(digits) for columns in asked]
    return [{n: x if math.isfinite(x) else None for n, x in of.items()} for of in none]


def _of_run(columns: Columns) -> tuple[dict[str, float], epistemic.Predictions, Tensor]:
    """Scores of a run alone, its last predictions, and the visits to their states."""
    steps = torch.tensor(columns["step"])
    first, last = (_at(columns, steps == step) for step in (steps.min(), steps.max()))
    found: dict[str, float] = {
        TRUTH_ERROR: float(last.truth_se.square().mean().sqrt()),
        START_BIAS: float((first.mean - first.truth).mean().abs() / first.climatology_std[0]),
        "queries/correlation": correlation(last),
        DIFFERENCES: epistemic.score_predictions(last).get("difference_coverage_90", math.nan),
    }
    counts = torch.tensor(columns.get("visits", np.full(len(steps), np.nan)))
    return found, last, counts[steps == steps.max()].double()


def controls(
    runs: Sequence[tuple[epistemic.Predictions, Tensor]],
) -> Iterator[tuple[str, list[epistemic.Predictions]]]:
    """Names and statements of the controls of a cell's runs, and ``sized``, their own widths so.

    Args:
        runs: the method's statements of K queries, and the visits of training to the state of each,
            ``[K]``, NaN where they are not counted.
    """
    every = [replace(of, difference_std=torch.full_like(of.mean, math.nan)) for of, _ in runs]
    yield "zero", [replace(of, std=torch.zeros_like(of.mean)) for of in every]
    if every and not any(of.std.isnan().any() for of in every):
        orders = [torch.Generator().manual_seed(SEED) for _ in every]
        places = [torch.randperm(len(of.std), generator=orders.pop()) for of in every]
        yield "shuffled", [replace(o, std=o.std[k]) for o, k in zip(every, places, strict=True)]
    forms = [_forms(of, visits) for of, (_, visits) in zip(every, runs, strict=True)]
    for name in (n for n in (forms[0] if forms else ()) if all(n in of for of in forms)):
        each = [(of, own[name]) for of, own in zip(every, forms, strict=True)]
        losses = [_losses(of, width).tolist() for of, width in each]
        sizes = [float(epistemic.FACTORS[k]) for k in best_of_others(losses)]
        yield name, [replace(of, std=f * x) for (of, x), f in zip(each, sizes, strict=True)]


def _losses(of: epistemic.Predictions, width: Tensor) -> Tensor:
    each, noise = epistemic.FACTORS[:, None] * width, of.truth_se.square()
    return epistemic.crps_distance(of.mean - of.truth, each, noise).mean(-1)


def best_of_others(losses: Sequence[Sequence[float]]) -> list[int]:
    """The place of the size with the least mean loss in the other runs, by run.

    The middle size, which leaves widths as stated, where the other runs do not tell sizes apart:
    their losses are not finite, or their widths are all zero.

    Args:
        losses: of each run, by size.
    """
    known = torch.tensor(losses, dtype=torch.float64)
    whole = known.isfinite().all(-1, keepdim=True)
    others = known.where(whole, 0.0).sum(0) - known.where(whole, 0.0)
    flat = others.isclose(others[..., :1], rtol=1e-9, atol=0).all(-1)
    middle = [len(of) // 2 for of in losses]
    return torch.tensor(middle).where(flat, others.argmin(-1)).tolist() if losses else []


def of_sizes(metric: Metric, records: Sequence[Columns]) -> dict[int, float]:
    """An environment's own score, at the size that is the best of the others, by run that has it.

    Args:
        metric: of a statistic ``queries/sized/NAME`` or ``queries/one-size/NAME``, of scores
            ``NAME@k`` by size.
        records: ``metrics.parquet`` of each run of a cell, or of a method.
    """
    name = f"queries/{metric.statistic.removeprefix(SIZED).removeprefix(ONE_SIZE)}@"
    last = [dict(zip(of["metric"].tolist(), of["value"].tolist(), strict=True)) for of in records]
    curves = {i: [of[f"{name}{k}"] for k in range(n)] for i, of in enumerate(last)
              if (n := sum(one.startswith(name) for one in of))}  # fmt: skip
    sign = -1 if metric.direction == "max" else 1
    chosen = best_of_others([[sign * x for x in of] for of in curves.values()])
    return {i: of[k] for (i, of), k in zip(curves.items(), chosen, strict=True)}


def _forms(of: epistemic.Predictions, visits: Tensor) -> dict[str, Tensor]:
    """Widths ``[K]`` that have a form and no size; those of a method that states none are zero."""
    unit, state = of.climatology_std.nan_to_num(1.0), of.state.unique(return_inverse=True)[1]
    most = torch.full_like(of.mean, -math.inf).scatter_reduce(0, state, of.mean, "amax")
    forms = {"constant": unit, "distance": (of.mean - of.mean.mean()).abs()}
    forms |= {"gap": most[state] - of.mean, "sized": of.std.nan_to_num(0.0)}
    return forms if visits.isnan().any() else {**forms, "counts": unit * (1 + visits).rsqrt()}


def correlation(of: epistemic.Predictions) -> float:
    """Rank correlation of the stated width with the error, its mean taken off.

    0 of a width that is the same everywhere; NaN where none is stated.
    """
    if not of.std.min() < of.std.max():
        return float(0 * of.std.sum())
    error = of.mean - of.truth
    return epistemic.rank_correlation(of.std, (error - error.mean()).abs())


def _coverage(of: epistemic.Predictions) -> float:
    reach = NormalDist().inv_cdf(0.95) * of.std
    low, high = epistemic.widened(of.mean - reach, of.mean + reach, of.truth_se.square(), 0.9)
    return float(((low <= of.truth) & (of.truth <= high)).double().mean())


def _at(columns: Columns, rows: Tensor) -> epistemic.Predictions:
    names = [field.name for field in fields(epistemic.Predictions) if field.name in columns]
    known = {name: torch.tensor(columns[name])[rows].double() for name in names}
    if "deviation_se" not in known:  # of older runs, without common random numbers
        actions = len(known["state"]) / len(known["state"].unique())
        known["deviation_se"] = known["truth_se"] * math.sqrt(1 - 1 / actions)
    return epistemic.Predictions(**known)
