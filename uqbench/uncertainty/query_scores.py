"""Scores of what an agent predicts at query states, against the truth about its own policy.

Scores are named ``queries/NAME``; what each asks, and what it cannot say, is in
``docs/uncertainty.md``. Those against a climatology are 0 for it and 1 for the truth.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import torch
from torch import Tensor

from uqbench.contract.agent import Uncertainty
from uqbench.contract.truth import Climatology, Truth
from uqbench.uncertainty import epistemic, forecasts
from uqbench.uncertainty.epistemic import Predictions
from uqbench.uncertainty.interval_scores import LEVELS, central_interval, quantile
from uqbench.uncertainty.plain import is_valid

PREFIX = "queries/"
TAIL = 0.25
"""Level of the CVaR that is compared."""
RELIABILITY = tuple(k / 20 for k in range(1, 20))
CONSTANT_ATOMS = 64
"""Atoms of the climatology's return distribution."""

Curve = tuple[Tensor, Tensor]
"""Coordinates ``[n]`` each."""


@dataclass(frozen=True)
class QueryScores:
    """One lane's scores by name, without prefix, what pictures need, and what it stated."""

    scores: Mapping[str, float]
    curves: Mapping[str, Curve]
    predictions: Predictions | None = None


@dataclass(frozen=True)
class _Lane:
    """One lane's predictions and truth about the K (s, a) that are known; float64.

    Attributes:
        stated: with ``[1, K, 1]`` for ``[L, M, A]``.
        truth: with ``[K]`` for ``[L, M, A]``.
        place: states and actions, ``[K, 2]``.
        climatology: of the task.
    """

    stated: Uncertainty
    truth: Truth
    place: Tensor
    climatology: Climatology | None

    @property
    def is_one_return(self) -> bool:
        """Whether the truth's standard error is not known."""
        return bool(self.truth.q_var.isnan().any())


def score_queries(
    stated: Uncertainty, truth: Truth, climatology: Sequence[Climatology] | None = None
) -> list[QueryScores]:
    """The scores of every lane; none of one about which no truth is known, or that is invalid.

    Single returns, which have no standard error, there are only the scores that need
    none. What an agent does not state has no score: those of the return distribution need
    ``return_atoms``, those of its standard deviation ``aleatoric_var``, and those of the epistemic
    uncertainty a mean, with a variance or posterior samples.

    Args:
        stated: about the M states, ``[L, M, A]``.
        truth: likewise.
        climatology: of each lane; None where it is not known, and nothing is scored against it.
    """
    predictions = {name: x for name, x in vars(stated).items() if x is not None}
    facts = {name: x for name, x in vars(truth).items() if x is not None}
    scored = []
    for lane, known in enumerate(~truth.q.isnan()):
        own = {name: x[lane][known].double()[None, :, None] for name, x in predictions.items()}
        about = Truth(**{name: x[lane][known] for name, x in facts.items()})
        if about.returns is not None and about.probs is None:  # another lane may have had more
            sampled = ~about.returns.isnan().any(0)
            about = replace(about, returns=about.returns[:, sampled])
        reference = None if climatology is None else climatology[lane]
        scored.append(_score(_Lane(Uncertainty(**own), about, known.nonzero(), reference)))
    return scored


def novelty(stated_seen: Uncertainty, stated_unseen: Uncertainty) -> list[float] | None:
    """AUROC ``[L]`` of the epistemic standard deviation, unseen states against seen ones.

    A state's is the mean over actions, as float32: the order in which numbers are added is no news.
    None where none is stated; NaN of an invalid statement, and where there are no seen or no unseen
    states, so that there is no pair to compare.
    """
    seen, unseen = _epistemic_std(stated_seen), _epistemic_std(stated_unseen)
    if seen is None or unseen is None:
        return None
    valid = (is_valid(stated_seen) & is_valid(stated_unseen)).tolist()
    return [
        epistemic.auroc(new.mean(-1).float(), old.mean(-1).float()) if right else math.nan
        for new, old, right in zip(unseen, seen, valid, strict=True)
    ]


def contraction(stated: Uncertainty, known: Tensor, visits: Tensor) -> list[float] | None:
    """Contraction of the epistemic standard deviation where training was more often, ``[L]``.

    Spearman's rank correlation of the two over states, its sign turned: 1 where it falls with every
    visit, 0 where it is the same everywhere and so knows nothing of them, NaN where all states were
    visited alike, so that there is nothing to know, and of an invalid statement. A state's is the
    mean over its actions, as float32: a mean of equal numbers need not equal them to the last bit.

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
    of_state = std.masked_fill(~known, torch.nan).nanmean(-1).float()
    valid = is_valid(stated, known).tolist()
    return [
        _falls(mean[asked], count[asked]) if right else math.nan
        for mean, count, asked, right in zip(of_state, visits, known.any(-1), valid, strict=True)
    ]


def _falls(std: Tensor, visits: Tensor) -> float:
    says_nothing = len(std) > 0 and bool(std.min() == std.max())
    if says_nothing and bool(visits.min() < visits.max()):
        return 0.0
    return -epistemic.rank_correlation(std, visits)


def _score(lane: _Lane) -> QueryScores:
    scores: dict[str, float] = {}
    curves: dict[str, Curve] = {}
    if not len(lane.truth.q) or not bool(is_valid(lane.stated)):
        return QueryScores(scores, curves)
    _score_distribution(lane, scores, curves)
    _score_aleatoric(lane, scores)
    if lane.stated.mean is None:
        return QueryScores(scores, curves)
    predictions = _predictions(lane)
    scores |= epistemic.score_predictions(predictions)
    if not lane.is_one_return and not predictions.std.isnan().any():
        _score_intervals(lane, predictions, scores, curves)
    return QueryScores(scores, curves, predictions)


def _score_distribution(lane: _Lane, scores: dict[str, float], curves: dict[str, Curve]) -> None:
    atoms, probs = lane.stated.return_atoms, lane.stated.return_probs
    outcomes, weights = lane.truth.returns, lane.truth.probs
    if atoms is None or probs is None or outcomes is None:
        return
    atoms, probs = atoms.flatten(0, 2), probs.flatten(0, 2)
    own = float(_expected_crps(atoms, probs, outcomes, weights).mean())
    scores["crps"] = own
    if weights is None:
        distribution = forecasts.pit_distribution(atoms, probs, outcomes)
        scores["pit_ks"] = forecasts.ks_distance(distribution)
        curves["pit"] = (torch.linspace(0, 1, len(distribution)).double(), distribution)
    if lane.is_one_return:
        return
    if lane.climatology is not None:
        levels = (torch.arange(CONSTANT_ATOMS).to(outcomes) + 0.5) / CONSTANT_ATOMS
        normal = lane.climatology.mean + lane.climatology.return_std * torch.special.ndtri(levels)
        constant = normal.expand(len(outcomes), -1)
        equal = torch.full_like(constant, 1 / CONSTANT_ATOMS)
        reference = float(_expected_crps(constant, equal, outcomes, weights).mean())
        if weights is None:
            best = forecasts.fair_crps_of_truth(outcomes)
        else:
            best = 0.5 * forecasts.mean_difference(outcomes, weights)
        most = reference - float(best.mean())  # 0 where there is nothing to be better at
        scores["return_proper"] = (reference - own) / most if most > 0 else math.nan
    uniform = torch.full_like(outcomes, 1 / outcomes.shape[-1]) if weights is None else weights
    own_tail = forecasts.lower_tail_mean(atoms, probs, TAIL)
    gap = own_tail - forecasts.lower_tail_mean(outcomes, uniform, TAIL)
    scores["cvar25_error"] = float(gap.abs().mean())


def _score_aleatoric(lane: _Lane, scores: dict[str, float]) -> None:
    """Mean, error and scale of the predicted standard deviation of the return."""
    if lane.stated.aleatoric_var is None or lane.is_one_return:
        return
    var = lane.stated.aleatoric_var.flatten().clamp(min=0)
    true, noise = _return_std(lane.truth)
    scores["aleatoric_std"] = float(var.sqrt().mean())
    squared = float(((var.sqrt() - true).square() - noise).mean())
    scores["aleatoric_error"] = math.sqrt(max(squared, 0.0))
    if lane.climatology is not None:
        smallest = epistemic.SMALLEST * lane.climatology.return_std
        scores["return_scale"] = epistemic.scale(
            float(lane.truth.return_variance.mean()), var.sqrt(), torch.zeros_like(var), smallest
        )


def _score_intervals(
    lane: _Lane, predictions: Predictions, scores: dict[str, float], curves: dict[str, Curve]
) -> None:
    covers = {level: _coverage(lane, level) for level in {*LEVELS, *RELIABILITY}}
    for level in LEVELS:
        percent = round(100 * level)
        scores[f"coverage_{percent}"] = covers[level]
        scores[f"coverage_{percent}_ceiling"] = level  # it was less where networks are few
    scores["first_rank"] = _first_rank(lane, predictions.std)
    points = [(level, covers[level]) for level in RELIABILITY]
    levels, shares = torch.tensor(points, dtype=torch.float64).unbind(1)
    curves["reliability"] = (levels, shares)
    error = predictions.mean - predictions.truth
    left = torch.arange(epistemic.SPARSIFICATION_STEPS).double() / epistemic.SPARSIFICATION_STEPS
    curves["sparsification"] = (left, epistemic.sparsification(predictions.std, error))
    curves["sparsification_best"] = (left, epistemic.sparsification(error.abs(), error))


def _coverage(lane: _Lane, level: float) -> float:
    """Share of the truths in the stated intervals, which are wider by the noise of the truth."""
    interval = central_interval(lane.stated, level)
    assert interval is not None
    low, high = (end.flatten() for end in interval)
    low, high = epistemic.widened(low, high, lane.truth.q_var, level)
    return float(((low <= lane.truth.q) & (lane.truth.q <= high)).double().mean())


def _first_rank(lane: _Lane, std: Tensor) -> float:
    """Rank of the first truth in its predicted distribution, from 0 to 1.

    Over many worlds drawn from a prior it is uniform for the exact posterior (Talts et al. 2018).
    """
    truth, samples, mean = lane.truth.q[0], lane.stated.value_samples, lane.stated.mean
    if samples is not None:
        return float((samples.flatten(0, 2)[0] < truth).double().mean())
    assert mean is not None
    return float(torch.special.ndtr((truth.cpu() - mean.flatten()[0].cpu()) / std[0]))


def _predictions(lane: _Lane) -> Predictions:
    """The stored statements of a lane, on the CPU and rounded to what a file keeps."""
    assert lane.stated.mean is not None
    mean, truth = lane.stated.mean.flatten(), lane.truth
    std = _epistemic_std(lane.stated)
    std = torch.full_like(mean, torch.nan) if std is None else std.flatten()
    state, action = lane.place.unbind(-1)
    of_state = state[:, None] == state
    means = mean.expand_as(of_state).masked_fill(~of_state, -torch.inf)
    greedy = (means == means.amax(-1, keepdim=True)).double()
    share = greedy / greedy.sum(-1, keepdim=True)  # of actions that are stated to be equally good
    other = torch.where(share > 0, share.square() * std.square(), 0.0)
    var, stated = std.square() + other.sum(-1), lane.stated
    if stated.value_samples is None:
        difference = var.sqrt()
    else:
        samples = stated.value_samples.flatten(0, 2)
        difference = (samples - share @ samples).std(-1)
    if stated.epistemic_dof is not None:  # of a sum of variances: Satterthwaite 1946
        dof = stated.epistemic_dof.flatten()
        imprecision = std.pow(4) / dof + (other.square() / dof).sum(-1)
        of_sum = torch.where(imprecision > 0, var.square() / imprecision, torch.inf)
        stated = replace(stated, epistemic_dof=of_sum)
    difference = difference * quantile(stated, 0.95) / NormalDist().inv_cdf(0.95)
    own = greedy.diagonal() > 0
    known = lane.climatology
    constants = (math.nan, math.nan) if known is None else (known.mean, known.std)
    columns = (
        state, action, mean, std, difference.masked_fill(own, torch.nan), truth.q,
        truth.q_var.sqrt(), _deviation_se(truth, of_state),
        *(torch.full_like(mean, value) for value in constants),
    )  # fmt: skip
    return Predictions(*(column.float().double().cpu() for column in columns))


def _deviation_se(truth: Truth, of_state: Tensor) -> Tensor:
    """Standard error of each truth less the mean of its state's, ``[K]``.

    Args:
        truth: of K pairs.
        of_state: which pairs are of one state, ``[K, K]`` bool.
    """
    if truth.returns is None or truth.probs is not None or truth.returns.shape[-1] < 2:
        return truth.q_var.sqrt()  # zero, or not known
    mean = of_state.double() / of_state.sum(-1, keepdim=True)
    deviation = truth.returns - mean @ truth.returns
    return deviation.std(-1) / math.sqrt(truth.returns.shape[-1])


def _expected_crps(
    atoms: Tensor, probs: Tensor, outcomes: Tensor, weights: Tensor | None
) -> Tensor:
    """The CRPS of each forecast, expected over weighted outcomes, ``[K]``."""
    if weights is None:
        return forecasts.crps(atoms, probs, outcomes)
    each = [forecasts.crps(atoms, probs, outcome[:, None]) for outcome in outcomes.unbind(-1)]
    return (weights * torch.stack(each, -1)).sum(-1)


def _return_std(truth: Truth) -> tuple[Tensor, Tensor]:
    """Standard deviations of the true returns, ``[K]``, and their squared standard errors.

    With R samples it is unbiased, with its error, for normal returns (``c₄`` of quality control).
    """
    var = truth.return_variance
    if truth.returns is None or truth.probs is not None or truth.return_var is not None:
        return var.sqrt(), torch.zeros_like(var)
    count = truth.returns.shape[-1]
    log_c4 = 0.5 * math.log(2 / (count - 1)) + math.lgamma(count / 2) - math.lgamma((count - 1) / 2)
    c4 = math.exp(log_c4)
    return var.sqrt() / c4, var * (1 - c4**2) / c4**2


def _epistemic_std(stated: Uncertainty) -> Tensor | None:
    """Standard deviations of Q ``[L, M, A]`` float64, from a variance or from samples."""
    if stated.epistemic_var is not None:
        return stated.epistemic_var.double().clamp(min=0).sqrt()
    return None if stated.value_samples is None else stated.value_samples.double().std(-1)
