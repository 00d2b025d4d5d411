"""Scores of the controls of an estimator's stored predictions.

A control replaces the part of a prediction that a score rewards: all of it by the shares of the
targets that are scored, which no other constant can beat; the order of its uncertainties by no
order, which scores what shuffled uncertainties score in expectation, or by the distance to the
nearest training input.
"""

import math
from collections.abc import Iterable

import numpy as np

from uqbench.contract.errors import contained, warn
from uqbench.contract.specs import Skill
from uqbench.registry.plugins import Host
from uqbench.results.tables import Columns
from uqbench.suites.controls import control_of
from uqbench.suites.metrics import Metric
from uqbench.uncertainty.predictions import stored_predictions

UNCERTAINTIES = ("total", "epistemic", "score", "energy")
STATED = (*UNCERTAINTIES, "members", "interval", "classes", "highest")
"""All that is stated besides probabilities or a mean."""


def predicted_scores(
    metrics: Iterable[Metric], columns: Columns | None, host: Host
) -> dict[str, float | None]:
    """Scores of the controls of an estimator's stored predictions, by statistic.

    None where a score is no number: it raises, or the distances are not stored.

    Args:
        metrics: of any kind; those of controls of registered scores are computed.
        columns: of ``predictions.parquet``; none are found of a run without estimator's.
        host: the scores.
    """
    found: dict[str, float | None] = {}
    if columns is None or "set" not in columns:
        return found
    for statistic in {m.statistic for m in metrics if m.kind == "predictions" and control_of(m)}:
        _, control, name = statistic.split("/")
        spec, value = host.scores[name], math.nan
        with contained(warn, f"the control {statistic!r} has no value: it raised "):
            if (stated := instead(columns, control, spec.skill)) is not None:
                value = float(spec.load_factory()(stored_predictions(stated)))
        found[statistic] = value if math.isfinite(value) else None
    return found


def instead(columns: Columns, control: str, skill: Skill | None) -> Columns | None:
    """The columns that a control states instead of a method's; None where they are not known."""
    count, probs = len(columns["set"]), columns.get("probs")
    left = {name: column for name, column in columns.items() if name not in STATED}
    if control == "shares":
        best = np.zeros((count, 1 if probs is None else probs.shape[1]))
        total = np.zeros(count)
        for name in set(columns["set"]):
            known = columns["target"][rows := columns["set"] == name]
            if np.isnan(known).any():
                continue
            if probs is None:
                best[rows], total[rows] = known.mean(), known.var()
            else:
                best[rows] = np.bincount(known.astype(int), minlength=best.shape[1]) / len(known)
        left["mean" if probs is None else "probs"] = best[:, 0] if probs is None else best
        return left | {"total": total, "aleatoric": total, "epistemic": 0 * total}
    distance = columns.get("nearest") if control == "nearest" else np.zeros(count, np.float32)
    if distance is None:
        return None
    left |= dict.fromkeys({*UNCERTAINTIES} & columns.keys(), distance)
    if skill == "detection" and probs is not None:
        share = distance / max(distance.max(), 1e-12) / probs.shape[1]
        left["probs"] = np.repeat(share[:, None], probs.shape[1], 1)
        left["probs"][:, 0] = 1 - (probs.shape[1] - 1) * share
    return left
