"""Scores of what an agent predicts at query states, against the truth about its own policy.

Scores are named ``queries/NAME``; what each asks, and what it cannot say, is in
``docs/uncertainty.md``. Skills are 0 for the best constant uncertainty, fitted to the run's own
errors, and 1 for perfect knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from uqbench.agent import Uncertainty
from uqbench.truth import Truth
from uqbench.uncertainty import epistemic, forecasts
from uqbench.uncertainty.interval_scores import LEVELS, central_interval, interval_score

PREFIX = "queries/"
TAIL = 0.25
"""Level of the CVaR that is compared."""
SHARP = 0.95
"""Level of the interval that is scored."""
RELIABILITY = tuple(k / 20 for k in range(1, 20))
CONSTANT_ATOMS = 64
"""Atoms of the constant return distribution that a run is compared with."""

Curve = tuple[Tensor, Tensor]
"""Coordinates ``[n]`` each."""


@dataclass(frozen=True)
class QueryScores:
    """One lane's scores by name, without prefix, and what pictures need."""

    scores: Mapping[str, float]
    curves: Mapping[str, Curve]


@dataclass(frozen=True)
class _Lane:
    """One lane's predictions and truth about the K (s, a) that are known; float64.

    Attributes:
        stated: with ``[1, K, 1]`` for ``[L, M, A]``.
        truth: with ``[K]`` for ``[L, M, A]``.
    """

    stated: Uncertainty
    truth: Truth

    @property
    def q(self) -> Tensor:
        """``Q^π`` ``[K]``."""
        return self.truth.q

    @property
    def realized(self) -> bool:
        """Whether its standard error is not known."""
        return bool(self.truth.q_var.isnan().any())

    @property
    def noise(self) -> Tensor:
        """Its squared standard error, ``[K]``."""
        return self.truth.q_var


def score_queries(stated: Uncertainty, truth: Truth) -> list[QueryScores]:
    """The scores of every lane; none of a lane about which no truth is known.

    Of single realized returns, which have no standard error, there are only the scores that need
    none; 1 of their ``crps_skill`` is clairvoyance. What an agent does not state has no score:
    those of the return distribution need ``return_atoms``, those of its spread ``aleatoric_var``,
    and those of the epistemic uncertainty a mean, with a variance or posterior samples.
    """
    return [_score(lane) for lane in _lanes(stated, truth)]


def novelty(stated_seen: Uncertainty, stated_unseen: Uncertainty) -> list[float] | None:
    """AUROC ``[L]`` of the epistemic standard deviation, unseen states against seen ones.

    A state's is the mean over actions. None where none is stated.
    """
    seen, unseen = _epistemic_std(stated_seen), _epistemic_std(stated_unseen)
    if seen is None or unseen is None:
        return None
    return [
        epistemic.auroc(new.mean(-1), old.mean(-1)) for new, old in zip(unseen, seen, strict=True)
    ]


def contraction(stated: Uncertainty, known: Tensor, visits: Tensor) -> list[float] | None:
    """Whether the epistemic standard deviation is smaller where training was more often, ``[L]``.

    Spearman's rank correlation of the two over states, its sign turned: 1 where it falls with every
    visit, 0 where it knows nothing of them, NaN where either is the same everywhere. A state's is
    the mean over its actions.

    Args:
        stated: about M states.
        known: actions that count, ``[L, M, A]`` bool.
        visits: to each state, ``[L, M]``.

    Returns:
        None where no epistemic uncertainty is stated.
    """
    std = _epistemic_std(stated)
    if std is None:
        return None
    of_state = std.masked_fill(~known, torch.nan).nanmean(-1)
    return [
        -epistemic.rank_correlation(mean[asked], count[asked])
        for mean, count, asked in zip(of_state, visits, known.any(-1), strict=True)
    ]


def _score(lane: _Lane) -> QueryScores:
    scores: dict[str, float] = {}
    curves: dict[str, Curve] = {}
    if not len(lane.q):
        return QueryScores(scores, curves)
    if lane.stated.return_atoms is not None and lane.truth.returns is not None:
        _score_distribution(lane, scores, curves)
    if lane.stated.aleatoric_var is not None and not lane.realized:
        _score_spread(lane, scores)
    if lane.stated.mean is not None:
        error = lane.stated.mean.flatten() - lane.q
        std = _epistemic_std(lane.stated)
        if not lane.realized:
            scores["q_error"] = math.sqrt(max(float((error.square() - lane.noise).mean()), 0.0))
        if std is not None:
            if lane.realized:
                _score_order(error, std.flatten(), scores, curves)
            else:
                _score_epistemic(lane, error, std.flatten(), scores, curves)
    return QueryScores(scores, curves)


def _score_distribution(lane: _Lane, scores: dict[str, float], curves: dict[str, Curve]) -> None:
    assert lane.stated.return_atoms is not None
    assert lane.stated.return_probs is not None
    atoms, probs = (x.flatten(0, 2) for x in (lane.stated.return_atoms, lane.stated.return_probs))
    outcomes, weights = lane.truth.returns, lane.truth.probs
    assert outcomes is not None
    own = _expected_crps(atoms, probs, outcomes, weights)
    mean = (atoms * probs).sum(-1, keepdim=True)
    residuals = _pooled(outcomes - mean, weights)
    constant = mean + residuals
    best = _expected_crps(
        constant, torch.full_like(constant, 1 / CONSTANT_ATOMS), outcomes, weights
    )
    if weights is not None:
        true = 0.5 * forecasts.mean_difference(outcomes, weights)
    elif lane.realized:
        true = torch.zeros_like(best)
    else:
        true = forecasts.fair_crps_of_truth(outcomes)
    scores["crps"] = float(own.mean())
    scores["crps_skill"] = _ratio(float((best - own).mean()), float((best - true).mean()))
    if weights is None:
        distribution = forecasts.pit_distribution(atoms, probs, outcomes)
        scores["pit_ks"] = forecasts.ks_distance(distribution)
        curves["pit"] = (torch.linspace(0, 1, len(distribution)).double(), distribution)
    if lane.realized:
        return
    uniform = torch.full_like(outcomes, 1 / outcomes.shape[-1]) if weights is None else weights
    gap = forecasts.lower_tail_mean(atoms, probs, TAIL) - forecasts.lower_tail_mean(
        outcomes, uniform, TAIL
    )
    scores["cvar25_error"] = float(gap.abs().mean())


def _score_spread(lane: _Lane, scores: dict[str, float]) -> None:
    """Mean, error and skill of the predicted standard deviation of the return."""
    assert lane.stated.aleatoric_var is not None
    std = lane.stated.aleatoric_var.flatten().clamp(min=0).sqrt()
    true, noise = _return_std(lane)
    scores["aleatoric_std"] = float(std.mean())
    squared = float(((std - true).square() - noise).mean())
    constant = float(true.var(correction=0) - noise.mean())
    scores["aleatoric_error"] = math.sqrt(max(squared, 0.0))
    scores["aleatoric_skill"] = _ratio(constant - squared, constant)


def _score_epistemic(
    lane: _Lane, error: Tensor, std: Tensor, scores: dict[str, float], curves: dict[str, Curve]
) -> None:
    samples = lane.stated.value_samples
    count = None if samples is None else samples.shape[-1]
    covers = {level: _coverage(lane, level) for level in {*LEVELS, *RELIABILITY}}
    for level in LEVELS:
        percent = round(100 * level)
        scores[f"coverage_{percent}"] = covers[level]
        scores[f"coverage_{percent}_ceiling"] = epistemic.coverage_ceiling(level, count)
    low, high = _interval(lane, SHARP)
    reach = epistemic.best_constant_half_width(error, SHARP)
    mean = error + lane.q
    own = float(interval_score(low, high, lane.q, SHARP).mean())
    constant = float(interval_score(mean - reach, mean + reach, lane.q, SHARP).mean())
    scores["interval_score_95"] = own
    scores["interval_skill"] = _ratio(constant - own, constant)
    curves["reliability"] = (_levels(RELIABILITY), _levels([covers[p] for p in RELIABILITY]))
    _score_order(error, std, scores, curves)
    scores["ence"] = epistemic.ence(std, error, lane.noise)
    scores["epistemic_std"] = float(std.mean())
    scores["first_rank"] = _first_rank(lane, std)


def _score_order(
    error: Tensor, std: Tensor, scores: dict[str, float], curves: dict[str, Curve]
) -> None:
    """Whether errors are larger where they are said to be."""
    scores["rank_correlation"] = epistemic.rank_correlation(std, error.abs())
    scores["sparsification_skill"] = 1 - epistemic.ause(std, error)
    left = torch.arange(epistemic.SPARSIFICATION_STEPS).double() / epistemic.SPARSIFICATION_STEPS
    curves["sparsification"] = (left, epistemic.sparsification(std, error))
    curves["sparsification_best"] = (left, epistemic.sparsification(error.abs(), error))
    curves["error_against_std"] = (std, error)


def _coverage(lane: _Lane, level: float) -> float:
    low, high = _interval(lane, level)
    return float(((low <= lane.q) & (lane.q <= high)).double().mean())


def _interval(lane: _Lane, level: float) -> tuple[Tensor, Tensor]:
    """The predicted intervals ``[K]``, wider by the noise of the truth."""
    interval = central_interval(lane.stated, level)
    assert interval is not None
    low, high = (end.flatten() for end in interval)
    return epistemic.widened(low, high, lane.noise, level)


def _first_rank(lane: _Lane, std: Tensor) -> float:
    """Rank of the first truth in its predicted distribution, from 0 to 1.

    Over many worlds drawn from a prior it is uniform for the exact posterior (Talts et al. 2018).
    """
    truth, samples, mean = lane.q[0], lane.stated.value_samples, lane.stated.mean
    if samples is not None:
        return float((samples.flatten(0, 2)[0] < truth).double().mean())
    assert mean is not None
    return float(torch.special.ndtr((truth - mean.flatten()[0]) / std[0]))


def _expected_crps(
    atoms: Tensor, probs: Tensor, outcomes: Tensor, weights: Tensor | None
) -> Tensor:
    """The CRPS of each forecast, expected over weighted outcomes, ``[K]``."""
    if weights is None:
        return forecasts.crps(atoms, probs, outcomes)
    each = torch.stack(
        [forecasts.crps(atoms, probs, outcome[:, None]) for outcome in outcomes.unbind(-1)], -1
    )
    return (weights * each).sum(-1)


def _pooled(residuals: Tensor, weights: Tensor | None) -> Tensor:
    """Quantiles ``[CONSTANT_ATOMS]`` of all residuals ``[K, R]``, at the middle of equal masses."""
    values, order = residuals.flatten().sort()
    mass = torch.ones_like(values) if weights is None else weights.flatten()[order]
    levels = (torch.arange(CONSTANT_ATOMS).double() + 0.5) / CONSTANT_ATOMS
    place = torch.searchsorted(mass.cumsum(0) / mass.sum(), levels.to(values.device))
    return values[place.clamp(max=len(values) - 1)]


def _return_std(lane: _Lane) -> tuple[Tensor, Tensor]:
    """Standard deviations of the true returns, ``[K]``, and their squared standard errors.

    Of R samples it is unbiased, with its error, for normal returns (``c₄`` of quality control).
    """
    returns, probs = lane.truth.returns, lane.truth.probs
    var = lane.truth.return_var
    if returns is not None and probs is not None:
        var = (probs * (returns - lane.q[:, None]).square()).sum(-1)
    if var is not None:
        return var.sqrt(), torch.zeros_like(var)
    assert returns is not None
    count = returns.shape[-1]
    log_c4 = 0.5 * math.log(2 / (count - 1)) + math.lgamma(count / 2) - math.lgamma((count - 1) / 2)
    c4 = math.exp(log_c4)
    var = returns.var(-1)
    return var.sqrt() / c4, var * (1 - c4**2) / c4**2


def _epistemic_std(stated: Uncertainty) -> Tensor | None:
    """Standard deviations of Q ``[L, M, A]`` float64, from a variance or from samples."""
    if stated.epistemic_var is not None:
        return stated.epistemic_var.double().clamp(min=0).sqrt()
    return None if stated.value_samples is None else stated.value_samples.double().std(-1)


def _lanes(stated: Uncertainty, truth: Truth) -> Iterator[_Lane]:
    predictions = {name: x for name, x in vars(stated).items() if x is not None}
    facts = {name: x for name, x in vars(truth).items() if x is not None}
    for lane, known in enumerate(~truth.q.isnan()):
        own = {name: x[lane][known].double()[None, :, None] for name, x in predictions.items()}
        yield _Lane(
            Uncertainty(**own), Truth(**{name: x[lane][known] for name, x in facts.items()})
        )


def _ratio(above: float, below: float) -> float:
    """NaN where there is nothing to be better at."""
    return above / below if below > 0 else math.nan


def _levels(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
