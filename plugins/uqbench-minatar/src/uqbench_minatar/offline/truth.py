"""What the ten policies are worth in 24 states of a game, and scores of what is stated of them.

The tables next to this module are Monte Carlo: ``python -m uqbench_minatar.tools.offline_truth``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

import numpy as np
import torch
from torch import Tensor
from uqbench_dqn.sizes import LARGEST, consistent

from uqbench.contract.agent import Uncertainty
from uqbench.contract.truth import Climatology, ExactTruth, Truth
from uqbench_minatar.config import OfflineConfig
from uqbench_minatar.offline.lanes import asked
from uqbench_minatar.offline.pairs import pair_scores, told_apart
from uqbench_minatar.offline.policies import DISCOUNT, POLICIES, probabilities, scripted

QUANTILE = 1.2815515655446004
"""Standard normal quantile of .9: bounds that one value in ten lies below."""


@dataclass(frozen=True)
class Table:
    """S states of a game; K policies, A actions.

    Attributes:
        frames: ``[S, C, 10, 10]`` bool.
        q: means of discounted returns, ``[S, K, A]`` float64.
        q_var: their squared standard errors, likewise.
        return_var: variances of returns, likewise.
    """

    frames: Tensor
    q: Tensor
    q_var: Tensor
    return_var: Tensor

    def values(self, script: Tensor) -> Tensor:
        """V of every policy, the mean over states with these script's actions, ``[K]``."""
        return (probabilities(script) * self.q).sum(-1).mean(0)

    def compared(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """V of every state and policy with these weights, ``[S · K]``, and the pairs told apart."""
        values = (weights * self.q).sum(-1).flatten()
        return values, told_apart(values, (weights.square() * self.q_var).sum(-1).flatten())


@cache
def table(game: str) -> Table:
    """A game's table, from its file."""
    with (
        as_file(files("uqbench_minatar") / "offline" / f"{game}.npz") as path,
        np.load(path, allow_pickle=False) as arrays,
    ):
        frames = torch.from_numpy(arrays["frames"].astype(bool))
        numbers = (arrays[name].astype(np.float64) for name in ("q", "q_var", "return_var"))
        return Table(frames, *map(torch.from_numpy, numbers))


def constant(of: Table) -> Climatology:
    """The normal law with the least CRPS of all that say the same of every value of Q.

    Not that of the moments: where most values are near zero, as in Freeway, who states zeros with
    one width would be a quarter of the way from it to the truth.
    """
    q = of.q.flatten()
    means, best = q.quantile(torch.linspace(0, 1, 101, dtype=q.dtype)), (math.inf, 0.0, 0.0)
    for std in (q.std() * 10 ** torch.linspace(-2, 0.25, 46, dtype=q.dtype)).tolist():
        away = (means[:, None] - q) / std
        tail = torch.exp(-0.5 * away.square()) * math.sqrt(2 / math.pi)
        loss = std * ((away * torch.erf(away / math.sqrt(2)) + tail).mean(-1) - math.pi**-0.5)
        least, place = loss.min(0)
        best = min(best, (float(least), float(means[place]), std))
    _, mean, std = best
    return Climatology(mean, std, math.sqrt(std**2 + float(of.return_var.mean())))


def scores(stated: Uncertainty, of: Table, script: Tensor) -> Mapping[str, Tensor]:
    """Scores ``[L]``: ``bounds_hold``, and ``pair_scores`` of values of policies in single states.

    ``bounds_hold`` is the share of ten values above their lower bounds; .9 is stated. The value of
    a policy is the mean over states, its actions weighted. Its deviation is that of the samples'
    means, at the variances' widths where there are both; of marginals, which say nothing of
    dependence, the mean of deviations, an upper bound. A lower bound is 1.28 of them below. Nobody
    chooses among the policies: they are numbered by their quality, so that a choice would show no
    method.
    """
    stated = consistent(stated)
    known = {name: x.double().cpu() for name, x in vars(stated).items() if x is not None}
    if "mean" not in known:
        return {}
    form, values = of.q.shape[:2], of.values(script)
    weights = probabilities(script)

    def own(entries: Tensor) -> Tensor:  # [L, M, A] → [L, S, K]
        value: Tensor = (weights * entries.unflatten(1, form)).sum(-1)
        return value

    mean, std, drawn = own(known["mean"]), None, None
    samples, var = known.get("value_samples"), known.get("epistemic_var")
    if samples is not None:
        drawn = torch.stack([own(one) for one in samples.unbind(-1)], -1)  # [L, S, K, C]
        std = drawn.std(-1)
        width = drawn.mean(1).std(-1)
        drawn = drawn.flatten(1, 2)
    elif var is not None:
        std = own(var.clamp(0, LARGEST**2).sqrt())
        width = std.mean(1)
    flat = None if std is None else std.flatten(1)
    found = pair_scores(mean.flatten(1), flat, drawn, *of.compared(weights))
    if std is None:
        return found
    bound = mean.mean(1) - QUANTILE * width
    return {**found, "bounds_hold": (bound <= values).double().mean(-1)}


def exact_truth(config: OfflineConfig, discount: float, seeds: Sequence[int]) -> ExactTruth:
    """Q of the ten policies in the states of a game, the same for all seeds.

    Raises:
        ValueError: the discount is not that of the tables.
    """
    if discount != DISCOUNT:
        raise ValueError(f"expected the discount of the tables, {DISCOUNT}; got {discount}")
    of = table(config.game)
    script = scripted(config.game, of.frames)
    states = len(of.frames)

    def of_lanes(x: Tensor) -> Tensor:
        return x.flatten(0, 1).expand(len(seeds), -1, -1)

    truth = Truth(of_lanes(of.q), of_lanes(of.q_var), return_var=of_lanes(of.return_var))
    number = torch.arange(POLICIES).expand(states, -1)
    frames = of.frames[:, None].expand(-1, POLICIES, -1, -1, -1)
    return ExactTruth(
        asked(frames, number).flatten(0, 1),
        None,
        lambda _: truth,
        scores=lambda stated, _: scores(stated, of, script),
        climatology=constant(of),
    )
