"""Estimates of what skills are worth beyond the best of their controls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from uqbench.boards.matrices import MethodScores
from uqbench.statistics.estimate import Estimate
from uqbench.statistics.levels import MINIMUM_SEEDS
from uqbench.statistics.location import location
from uqbench.suites.controls import COVERAGE, control_of
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import Plan

BEYOND = "_beyond"
"""Ends the name of a column of ``leaderboard.csv``: a skill less its best control's."""


def beyond(plan: Plan, metrics: Sequence[Metric], own: MethodScores) -> dict[str, Estimate | None]:
    """Estimates of each skill of a method less the best of its controls, by column.

    None where a control of predictions is not known, as in runs from before distances were stored.
    The best control is the one with the greatest mean over the method's runs; its values are taken
    off run by run. Intervals hold together with 95 % for all methods of the board that have any.
    """
    found: dict[str, Estimate | None] = {}
    enough = [c.method.name for c in plan.cells if len(c.runs) >= MINIMUM_SEEDS]
    rows = max(1, sum(plan.roles[name] == "method" for name in {*enough}))  # oracles may be alone
    for metric in (one for one in metrics if one.statistic != COVERAGE):
        names = {m.name: f"{metric.name}_{control_of(m)}" for m in metrics if control_of(m)}
        values = own.raw(metric)
        others = [own.raw(m) for m in metrics if names.get(m.name) == m.name]
        sign = 1 if metric.direction == "max" else -1
        known = [sign * of for of in others if of is not None]
        if others:
            found[metric.name + BEYOND] = None
        whole = metric.kind == "queries" or len(known) == len(others)
        if values is not None and known and whole:
            gains = sign * values - max(known, key=np.mean)
            gain = location(gains, "mean", clustered=plan.suite.pairing == "seeds")
            found[metric.name + BEYOND] = Estimate.of(gain, len(values), rows)
    return found


def above_controls(leaderboard: pd.DataFrame) -> dict[str, list[str]]:
    """The methods whose intervals lie above zero beyond the best control, by skill that has any."""
    skills = [
        name.removesuffix(BEYOND)
        for name in leaderboard
        if name.endswith(BEYOND) and leaderboard[f"{name}_low"].notna().any()
    ]
    above = {name: leaderboard[f"{name}{BEYOND}_low"].astype(float) > 0 for name in skills}
    return {name: list(leaderboard.loc[which, "method"]) for name, which in above.items()}
