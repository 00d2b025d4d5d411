"""The profile: a number with an interval for each method and capability."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from uqbench.statistics.quantiles import t_quantile

CAPABILITIES: Mapping[str, tuple[str, str]] = {
    "deep exploration": ("exploration", "sea-"),
    "… with noisy rewards": ("exploration", "noisy-sea-"),
    "… with a noisy TV": ("exploration", "television-sea-"),
    "epistemic shape": ("epistemic_shape", "bandit-table"),
    "epistemic scale": ("epistemic_scale", "bandit-table"),
    "aleatoric calibration": ("aleatoric_calibration", "bandit-table"),
    "disentanglement": ("disentanglement", "bandit-table"),
    "unseen states": ("unseen_states", "bandit-table"),
    "decisions": ("decisions", "bandit-table"),
    "decisions, one factor": ("decisions_sized", "bandit-table"),
    "risk control": ("risk_control", "risk-bets"),
}
"""The metric of each, and how the names of its tasks begin."""


def profile(scores: pd.DataFrame) -> pd.DataFrame:
    """``method``, ``capability``, ``estimate``, ``low``, ``high``, ``runs``; in the rows' order.

    A seed's value is the mean over the capability's tasks, the estimate the mean over seeds, with a
    t interval of 95 %; NaN for one seed. Seeds without all of a capability's tasks do not count.

    Args:
        scores: of a board of the suite, a row a run.
    """
    finished = scores[scores["status"] == "finished"]
    rows = []
    for method in dict.fromkeys(finished["method"]):
        for capability, (metric, prefix) in CAPABILITIES.items():
            of = finished["task"].str.startswith(prefix)
            tasks = finished.loc[of, "task"].nunique()
            if not tasks or metric not in finished:
                continue  # a board made before there was such a task, or score
            own = finished[of & (finished["method"] == method)]
            values = pd.to_numeric(own[metric], errors="coerce").groupby(own["seed"])
            seeds = values.mean()[values.count() == tasks]
            if len(seeds):
                rows.append((method, capability, *_interval(seeds), len(seeds)))
    return pd.DataFrame(rows, columns=["method", "capability", "estimate", "low", "high", "runs"])


def table(profiles: pd.DataFrame) -> pd.DataFrame:
    """A row a method and a column a capability, the highest mean first; NaN where not run."""
    wide = profiles.pivot(index="method", columns="capability", values="estimate")
    wide = wide[[name for name in CAPABILITIES if name in wide]]
    scored = wide.drop(columns="epistemic scale", errors="ignore")  # 0 is right there, not 1
    return wide.loc[scored.mean(axis=1).sort_values(ascending=False, kind="stable").index]


def _interval(values: pd.Series) -> tuple[float, float, float]:
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return mean, math.nan, math.nan
    half = t_quantile(0.975, n - 1) * float(values.std()) / math.sqrt(n)
    return mean, mean - half, mean + half
