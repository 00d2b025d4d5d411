"""A run's final numbers, from its episodes and records."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from uqbench.results.columns import Columns
from uqbench.risk import RiskMeasure
from uqbench.suite import RECORDS, Metric


def record_step(k: int, steps: int) -> int:
    """The step after which record ``k`` of ``RECORDS`` is taken, in a run of ``steps``."""
    return steps * k // RECORDS


def scalar(
    metric: Metric,
    risk: RiskMeasure,
    episodes: Columns,
    records: Columns,
    steps: int,
    optimal_return: float | None = None,
) -> float | None:
    """A metric's value for one run, or None where no episode ended in its window.

    Args:
        metric: what to compute.
        risk: the metric's risk measure.
        episodes: columns ``step``, ``phase``, ``return``, ``length``, ``end``.
        records: columns ``step``, ``metric``, ``value``; ``reward`` is cumulative.
        steps: length of the run.
        optimal_return: of the task, for a regret.
    """
    first = record_step(round(RECORDS * (1 - metric.window)), steps)
    if metric.kind == "estimate":
        return float(records["value"][records["metric"] == metric.statistic].item())
    if metric.kind == "online" and metric.statistic == "reward_per_step":
        return _reward_per_step(records, first, steps)
    counted = (
        _last_evaluation(episodes)
        if metric.kind == "evaluation"
        else (episodes["phase"] == "training")
        & (episodes["end"] != "unfinished")
        & (episodes["step"] > first)
    )
    if not counted.any():
        return None
    returns = torch.from_numpy(episodes["return"][counted])
    if metric.statistic == "reward_per_step":
        return float(returns.sum() / episodes["length"][counted].sum())
    value = float(risk(returns, torch.full_like(returns, 1 / len(returns))))
    if metric.statistic == "regret":
        if optimal_return is None:
            raise ValueError(f"the regret {metric.name!r} needs the task's optimal return")
        return optimal_return - value
    return value


def _last_evaluation(episodes: Columns) -> NDArray[np.bool_]:
    evaluated = episodes["phase"] == "evaluation"
    last = episodes["step"][evaluated].max(initial=-1)
    counted: NDArray[np.bool_] = evaluated & (episodes["step"] == last)
    return counted


def _reward_per_step(records: Columns, first: int, steps: int) -> float:
    chosen = records["metric"] == "reward"
    at = dict(zip(records["step"][chosen], records["value"][chosen], strict=True))
    before = at[first] if first else 0.0
    return float((at[steps] - before) / (steps - first))
