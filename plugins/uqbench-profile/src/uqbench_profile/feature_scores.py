"""What is stated about states that have features, beyond a constant width.

Every score is 0 for the best constant width about the same means and 1 for the exact posterior;
what is not stated has none. A common factor of all widths is told apart, in ``scale``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import Uncertainty
from uqbench.contract.truth import Climatology, ExactTruth, Truth
from uqbench_profile.bandit_scores import LOWEST, SMALLEST, utility
from uqbench_profile.config import FeatureConfig
from uqbench_profile.feature_posterior import Known, posterior, prior_moments, true_values
from uqbench_profile.feature_worlds import SIGMA, FeatureWorld

PRICES = torch.linspace(0.1, 2.5, 13, dtype=torch.float64)
"""How far below its exact mean a bet's price is, in typical exact standard deviations."""
JOINT, SETS = 10, 50
"""Pairs that are predicted together, and how many sets of them."""
NOISE = 0.01
"""Variance of what is predicted together, Q seen with it."""
CONSTANTS = 40
"""Constant widths that are tried for the best."""


def shape(std: Tensor, exact: Tensor) -> Tensor:
    """``1 − Σ (x − x*)² / Σ x*²``, x = log s minus its mean, of ``[L, K]``: ``[L]``."""
    stated, known = (_centered(x.clamp(min=SMALLEST).log()) for x in (std, exact))
    score: Tensor = 1 - (stated - known).square().sum(-1) / known.square().sum(-1)
    return score


def scale(std: Tensor, exact: Tensor) -> Tensor:
    """log10 of the factor by which stated standard deviations are too large, ``[L]``."""
    ratio: Tensor = (std.clamp(min=SMALLEST).log10() - exact.log10()).mean(-1)
    return ratio


def unseen(std: Tensor, exact: Tensor, never: Tensor) -> Tensor:
    """Spearman's correlation of stated and exact standard deviations of pairs never shown, ``[L]``.

    0 where all that is stated is the same.
    """
    found = []
    for own, known, which in zip(std, exact, never, strict=True):
        ranks = [_centered(_ranks(x[which])) for x in (own, known)]
        norm = (ranks[0].square().sum() * ranks[1].square().sum()).sqrt()
        found.append((ranks[0] * ranks[1]).sum() / norm if norm > 0 else norm)
    return torch.stack(found)


def decisions(mean: Tensor, std: Tensor, exact: Known) -> Tensor:
    """Gain of bets by the stated widths over the best constant's, as a share of exact Bayes's.

    A bet on a pair pays Q less a price, losses weighing five times; it is taken where the stated
    utility is positive, and worth its utility by the exact posterior.
    """
    prices = PRICES * exact.std.log().mean(-1).exp()[:, None]
    price = exact.mean[..., None] - prices[:, None]
    worth = utility(exact.mean[..., None] - price, exact.std[..., None])

    def gained(about: Tensor, width: Tensor) -> Tensor:
        taken = utility(about[..., None] - price, width[..., None]) > 0
        return (worth * taken).mean((-1, -2))

    def by_constant(about: Tensor) -> Tensor:
        of = [gained(about, c[:, None].expand_as(about)) for c in _constants(about, exact)]
        return torch.stack(of).amax(0)

    best = worth.clamp(min=0).mean((-1, -2)) - by_constant(exact.mean)
    return (gained(mean, std) - by_constant(mean)) / best


def joint(mean: Tensor, covariance: Tensor, exact: Known) -> Tensor:
    """``1 − KL(stated) / KL(best constant)`` of joint predictions of ten pairs, ``[L]``.

    ``covariance`` is ``[L, K, K]``. KL is of the exact posterior, by its moments, from what is
    stated; the constant is independent between pairs, about the same mean.
    """
    generator = torch.Generator().manual_seed(JOINT)
    pairs = mean.shape[-1]
    drawn = torch.stack([torch.randperm(pairs, generator=generator)[:JOINT] for _ in range(SETS)])
    block = (..., drawn[:, :, None], drawn[:, None])
    noise = NOISE * torch.eye(JOINT, dtype=mean.dtype)
    identity = torch.eye(JOINT, dtype=mean.dtype)
    difference, known = (mean - exact.mean)[:, drawn], exact.covariance[block] + noise
    own = divergence(difference, covariance[block] + noise, known).mean(-1)
    of = [
        divergence(difference, c[:, None, None, None] ** 2 * identity + noise, known).mean(-1)
        for c in _constants(mean, exact)
    ]
    return 1 - own / torch.stack(of).amin(0)


def divergence(difference: Tensor, own: Tensor, exact: Tensor) -> Tensor:
    """KL(exact ‖ own) in nats of normal laws ``difference`` ``[..., D]`` apart: ``[...]``."""
    solved = torch.linalg.solve(own, torch.cat([exact, difference[..., None]], -1))
    trace = solved[..., :-1].diagonal(dim1=-2, dim2=-1).sum(-1) - difference.shape[-1]
    distance = (difference * solved[..., -1]).sum(-1)
    found: Tensor = 0.5 * (trace + distance + torch.logdet(own) - torch.logdet(exact))
    return found


def scores(stated: Uncertainty, exact: Known, never: Tensor) -> Mapping[str, Tensor]:
    """The scores ``[L]`` by name of what is stated ``[L, M, A, …]``; no score of what is not.

    ``score``, the mean of the four, is there only where all of them are.
    """
    known = {name: x.double().cpu() for name, x in vars(stated).items() if x is not None}
    samples = known.get("value_samples")
    var = known.get("epistemic_var", None if samples is None else samples.var(-1))
    if "mean" not in known or var is None:
        return {}
    mean, std = known["mean"].flatten(1), var.clamp(min=0).sqrt().flatten(1)
    covariance = torch.diag_embed(std.square())
    if samples is not None:
        centered = _centered(samples.flatten(1, 2))
        covariance = centered @ centered.mT / (samples.shape[-1] - 1)
    found = {
        "shape": shape(std, exact.std),
        "unseen": unseen(std, exact.std, never.flatten(1)),
        "decisions": decisions(mean, std, exact),
        "joint": joint(mean, covariance, exact),
    }
    found = {name: value.clamp(min=LOWEST) for name, value in found.items()}
    return {
        "score": torch.stack([*found.values()]).mean(0),
        **found,
        "scale": scale(std, exact.std),
    }


def exact_truth(config: FeatureConfig, discount: float, seeds: Sequence[int]) -> ExactTruth:
    """Every world's Q, whatever an agent's policy, and the scores of this module."""
    world = FeatureWorld.drawn(config, seeds)
    exact, never = posterior(config, world, discount, seeds), world.count == 0
    q = true_values(config, world, discount)
    mean, std = prior_moments(config, discount)
    noise = SIGMA**2 / (1 - discount**2) if config.family == "ring" else SIGMA**2
    truth = Truth(q, torch.zeros_like(q), return_var=torch.full_like(q, noise))
    return ExactTruth(
        world.asked.float(),
        None,
        lambda _: truth,
        scores=lambda stated, _: scores(stated, exact, never),
        climatology=Climatology(mean, std, (std**2 + noise) ** 0.5),
        of_lanes=True,
    )


def _constants(mean: Tensor, exact: Known) -> Tensor:
    """Widths that are tried, ``[CONSTANTS, L]``: from a third of the least to what errors need."""
    error = (mean - exact.mean).square().mean(-1).sqrt()
    low, high = exact.std.amin(-1) / 3, 3 * torch.maximum(exact.std.amax(-1), error)
    steps = torch.linspace(0, 1, CONSTANTS, dtype=mean.dtype)[:, None]
    return low * (high / low) ** steps


def _centered(values: Tensor) -> Tensor:
    return values - values.mean(-1, keepdim=True)


def _ranks(values: Tensor) -> Tensor:
    """Ranks ``[K]``, ties averaged."""
    less = (values[:, None] > values).sum(-1)
    return less + 0.5 * (values[:, None] == values).sum(-1)
