"""Scores of a run's stored predictions of Q, its own and those of controls.

A control states the method's own means, with widths that know nothing of the point: zero, the best
constant, its own widths in another order, those of the other half of the states, or what the
means alone tell: on MinAtar errors grow with the distance of a mean from the average, and below a
state's greatest mean, as much as with any width that was stated. Only what a method's widths are
worth beyond these is a skill; a coverage of 90 % is none. Factors and constants are the best for
the very points that are scored, so that a method has to be better than any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from statistics import NormalDist

import numpy as np
import torch
from torch import Tensor

from uqbench.results.tables import Columns
from uqbench.suites.controls import DIFFERENCES, START_BIAS
from uqbench.suites.metrics import TRUTH_ERROR
from uqbench.uncertainty import epistemic

SEED = 0
"""The seed of the order of shuffled widths, and of the halves of the states."""


def stored_scores(columns: Columns | None) -> dict[str, float | None]:
    """Scores of what a run stores of its queries, by statistic; none of other predictions.

    None where a score is no number.

    Args:
        columns: of ``predictions.parquet``.
    """
    if columns is None or "truth_se" not in columns or not len(columns["step"]):
        return {}
    steps = torch.tensor(columns["step"])
    first, last = (_at(columns, steps == step) for step in (steps.min(), steps.max()))
    start = (first.mean - first.truth).mean().abs() / first.climatology_std[0]
    found: dict[str, float] = {
        TRUTH_ERROR: float(last.truth_se.square().mean().sqrt()),
        START_BIAS: float(start),
        "queries/correlation": correlation(last),
        DIFFERENCES: epistemic.score_predictions(last).get("difference_coverage_90", math.nan),
    }
    counts = torch.tensor(columns.get("visits", np.full(len(steps), np.nan)))
    for control, stated in controls(last, counts[steps == steps.max()].double()):
        own = {"correlation": correlation(stated), "coverage_90": _coverage(stated)}
        for name, value in (epistemic.score_predictions(stated) | own).items():
            found[f"queries/{control}/{name}"] = value
    digits = {name: float(f"{value:.6g}") for name, value in found.items()}
    return {name: value if math.isfinite(value) else None for name, value in digits.items()}


def controls(
    of: epistemic.Predictions, visits: Tensor
) -> Iterator[tuple[str, epistemic.Predictions]]:
    """Names and statements of the controls of a method's statements.

    Args:
        of: the method's, of K queries.
        visits: of training to the state of each, ``[K]``; NaN where they are not counted.
    """
    of = replace(of, difference_std=torch.full_like(of.mean, math.nan))
    error, noise = of.mean - of.truth, of.truth_se.square()

    def best(widths: Tensor) -> epistemic.Predictions:
        factors = epistemic.FACTORS[:, None] * error.square().mean().sqrt()
        distance = epistemic.crps_distance(error, factors * widths, noise).mean(-1)
        return replace(of, std=factors[distance.argmin()] * widths)

    yield "zero", replace(of, std=torch.zeros_like(of.mean))
    yield "constant", best(torch.ones_like(of.mean))
    generator = torch.Generator().manual_seed(SEED)
    if not of.std.isnan().any():
        yield "shuffled", replace(of, std=of.std[torch.randperm(len(error), generator=generator)])
    states = of.state.unique()
    if len(states) > 1:
        chosen = states[torch.randperm(len(states), generator=generator)[::2]]
        mean, std, half = of.mean.clone(), torch.zeros_like(of.mean), torch.isin(of.state, chosen)
        for own in (half, ~half):
            mean[own] -= (bias := error[~own].mean())
            var = (error[~own] - bias).square().mean() - noise[~own].mean()
            std[own] = var.clamp(min=0).sqrt()
        yield "conformal", replace(of, mean=mean, std=std)
    yield "distance", best((of.mean - of.mean.mean()).abs())
    state = of.state.unique(return_inverse=True)[1]
    most = of.mean.new_full(states.shape, -math.inf).scatter_reduce(0, state, of.mean, "amax")
    yield "gap", best(most[state] - of.mean)
    if not visits.isnan().any():
        yield "counts", best((1 + visits).rsqrt())


def skills(of: epistemic.Predictions) -> list[float]:
    """The scores of :data:`uqbench.suites.controls.SKILLS`, in their order."""
    scores = epistemic.score_predictions(of)
    return [scores["proper"], scores["information"], correlation(of)]


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
