"""Scores of a stated epistemic uncertainty: of a mean and a standard deviation of Q.

An agent states that ``Q^π(s, a)`` is about ``mean``, up to ``std``. Three numbers judge K such
statements, and none of them can be raised, in expectation, by stating anything but what one knows:

- *proper*: the CRPS of ``N(mean, std²)``: 0 for the climatology, 1 for the truth;
- *scale*: log10 of the factor by which the standard deviations must be multiplied; 0 is honest;
- *information*: the proper score once they are multiplied by the best factor, at least 0.

Rollouts know the truth only up to a standard error. Squares of it are subtracted from squared
errors, which is unbiased whatever the returns' distribution. The CRPS is that of Q seen with an
error of ``RESOLUTION`` times the rollouts' (:func:`crps_distance`); an exact truth has none.

Shapes: ``K`` statements; everything float64. ``error`` is the stated mean minus the truth,
``noise`` the truth's squared standard error.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import torch
from torch import Tensor

SPARSIFICATION_STEPS = 20
"""Shares 0, 1/20, …, 19/20 of the predictions are left out."""
RESOLUTION = 3.0
"""In standard errors of the truth; at 3 the bias of second order is below a hundredth."""
FACTORS = 10 ** torch.linspace(-3, 3, 121, dtype=torch.float64)
"""By which stated standard deviations are multiplied in search of the best one."""
SMALLEST = 1e-3
"""A standard deviation, over the climatology's, below which none is told from zero."""


@dataclass(frozen=True)
class Predictions:
    """K stored statements of a run at query states, and the truth about them.

    Boards are scored from them without training. All are ``[K]`` float64 of float32 numbers.

    Attributes:
        state: its number.
        action: its number.
        mean: stated, of Q.
        std: stated standard deviation of Q; NaN where none is.
        difference_std: stated, of Q minus the Q of the state's stated greedy action, or the mean Q
            of those that are stated to be equally good; NaN for these. Independent errors are
            supposed where no posterior samples are stated. With few networks it is that of the
            normal whose 90 % interval is Student's.
        truth: ``Q^π``, or one return.
        truth_se: its standard error; NaN of one return.
        deviation_se: standard error of the truth less the mean of its state's actions, whose
            rollouts may share their random numbers; NaN of one return.
        climatology_mean: the same in all of a task's runs; NaN where it is not known,
        climatology_std: likewise.
    """

    state: Tensor
    action: Tensor
    mean: Tensor
    std: Tensor
    difference_std: Tensor
    truth: Tensor
    truth_se: Tensor
    deviation_se: Tensor
    climatology_mean: Tensor
    climatology_std: Tensor


def score_predictions(of: Predictions) -> dict[str, float]:
    """The scores that follow from stored statements, by name.

    ``q_error``, ``bias`` and ``error_std`` in units of return, with ``q_error² = bias² +
    error_std²``; ``proper``, ``information`` and ``scale``; ``difference_coverage_90``. An agent
    that states a mean alone is scored as one that is certain of it, and has no ``scale``. What is
    no statement (a mean that is not finite, a negative standard deviation, or some alone) has none.
    """
    error, noise = of.mean - of.truth, of.truth_se.square()
    partly = bool(of.std.isnan().any() != of.std.isnan().all())
    if noise.isnan().any() or partly or (of.std < 0).any() or not of.mean.isfinite().all():
        return {}
    bias, mean_square = float(error.mean()), float((error.square() - noise).mean())
    scores = {
        "q_error": math.sqrt(max(mean_square, 0.0)),
        "bias": bias,
        "error_std": math.sqrt(max(mean_square - bias**2, 0.0)),
    }
    states_std = not bool(of.std.isnan().any())
    std = of.std if states_std else torch.zeros_like(of.mean)
    unit = of.climatology_std
    if not unit.isnan().any():
        reference = float(crps_distance(of.climatology_mean - of.truth, unit, noise).mean())
        scores["proper"] = 1 - float(crps_distance(error, std, noise).mean()) / reference
        recalibrated = crps_distance(error, FACTORS[:, None].to(std) * std, noise).mean(-1)
        best = min(float(recalibrated.min()), (1 - scores["proper"]) * reference)
        scores["information"] = max(1 - best / reference, 0.0)
    if states_std:
        if not unit.isnan().any():
            scores["scale"] = scale(mean_square, std, noise, SMALLEST * float(unit[0]))
        scores["epistemic_std"] = float(std.mean())
        scores |= _difference_coverage(of)
    return scores


def crps_distance(error: Tensor, std: Tensor, noise: Tensor) -> Tensor:
    """Distance of ``N(mean, std²)`` from a point at the truth, ``[K]``; 0 at best, units of return.

    With an exact truth the CRPS: ``E|X − y| − ½ E|X − X'|`` (Gneiting & Raftery 2007, eq. 21). With
    a noisy one the kernel ``|x − y|`` is ``E|x − y + τZ|``, τ being ``RESOLUTION`` times the root
    mean squared standard error: the kernel score of Q seen with that error (their section 5.1),
    proper as well. The truth's own noise adds ``½ noise ∂²E/∂y²``, which is subtracted.
    """
    blur = (RESOLUTION**2 * noise.mean()).expand_as(noise)
    var = std.square() + blur
    density = torch.exp(-0.5 * error.square() / var.clamp(min=1e-300)) / math.sqrt(2 * math.pi)
    to_truth = _mean_distance(error, var)
    to_truth = to_truth - torch.where(
        noise > 0, noise * density / var.sqrt().clamp(min=1e-150), 0.0
    )
    unit = math.sqrt(2 / math.pi)  # E|Z|
    to_another = (2 * std.square() + blur).sqrt().clamp(min=1e-150) * unit
    return to_truth - 0.5 * to_another - 0.5 * (blur.sqrt().clamp(min=1e-150) * unit)


def _mean_distance(difference: Tensor, var: Tensor) -> Tensor:
    """``E|difference + √var Z|`` of a standard normal Z."""
    root = var.sqrt().clamp(min=1e-150)
    ratio = difference / root
    folded = root * math.sqrt(2 / math.pi) * torch.exp(-0.5 * ratio.square())
    return difference * torch.erf(ratio / math.sqrt(2)) + folded


def scale(mean_square: float, std: Tensor, noise: Tensor, smallest: float) -> float:
    """log10 of the root mean squared error over the root mean stated variance.

    The spread–error ratio of ensemble forecasts (Fortin et al. 2014). What lies below the smallest
    standard deviation that is told from zero, or below what the truth's noise may add to K squared
    errors, counts as nothing on either side. Minus infinity where a variance is infinite.
    """
    resolved = smallest**2 + float((noise.square().mean() / len(noise)).sqrt())
    squares = max(mean_square, 0.0), float(std.square().mean())
    above, below = (square + resolved for square in squares)
    ratio = above / below
    return 0.5 * math.log10(ratio) if ratio > 0 else -math.inf


def action_noise(returns: Tensor) -> tuple[Tensor, Tensor]:
    """Mean squares of the noise and of the estimates of Q less its state's mean, of rollouts.

    Args:
        returns: ``[M, A, R]``, the last NaN in all rows where there are fewer.
    """
    known = returns[..., ~returns.isnan().any(0).any(0)]
    deviation = known - known.mean(1, keepdim=True)
    return (deviation.var(-1) / known.shape[-1]).mean(), deviation.mean(-1).square().mean()


def resolved(noise: Tensor, estimated: Tensor) -> Tensor:
    """Whether differences between actions are resolved, bool.

    Their standard error must be at most half of their standard deviation, both root mean squares:
    of the estimates' mean square the noise is subtracted.
    """
    return noise <= 0.25 * (estimated - noise)


def _difference_coverage(of: Predictions) -> Mapping[str, float]:
    """Share of Q(s, a) − Q(s, a′) in their 90 % intervals, a′ being the stated greedy action.

    No action is the greedy one among equally good ones: Q(s, a′) is their mean. A
    statement that is the same for all actions has no difference, and no score. NaN where the truth
    does not resolve them (:func:`resolved`).
    """
    alternative = ~of.difference_std.isnan()
    state = of.state.unique(return_inverse=True)[1]

    def of_state(values: Tensor) -> Tensor:  # their sum over the state's actions, for each of them
        return torch.zeros(int(state.max()) + 1).double().index_add(0, state, values)[state]

    actions, noise = of_state(torch.ones_like(of.mean)), of.deviation_se.square()
    deviation = of.truth - of_state(of.truth) / actions
    if not alternative.any():
        return {}
    if not resolved(noise.mean(), deviation.square().mean()):
        return {"difference_coverage_90": math.nan}
    share = (~alternative).double()
    share = share / of_state(share)
    error = of.mean - of.truth
    difference = (error - of_state(share * error))[alternative]
    std = of.difference_std[alternative]
    z = NormalDist().inv_cdf(0.95)
    # exact for errors of equal correlation: a deviation has (A − 1)/A of the uncorrelated part
    both = (noise + of_state(share.square() * noise)) * actions / (actions - 1).clamp(min=1)
    _, high = widened(-z * std, z * std, both[alternative], 0.9)
    return {"difference_coverage_90": float((difference.abs() <= high).double().mean())}


def reaches(level: float, samples: int | None) -> bool:
    """Whether the extremes of so many samples lie outside of a central interval of ``level``."""
    return samples is not None and (samples + 1) * (1 - level) / 2 >= 1 - 1e-9


def widened(low: Tensor, high: Tensor, noise: Tensor, level: float) -> tuple[Tensor, Tensor]:
    """Intervals of ``level`` for an estimate of the truth, whose squared standard error is known.

    Half-widths ``h`` become ``√(h² + z² noise)``: exact for normal predictions. The noise is the
    mean over all: that of four rollouts varies too much, and is 0 where they happen to coincide.
    """
    center = 0.5 * (low + high)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    half = ((high - center).square() + z**2 * noise.mean()).sqrt()
    return center - half, center + half


def rank_correlation(x: Tensor, y: Tensor) -> float:
    """Spearman's rank correlation, ties at their mean rank; NaN where one is constant."""
    return float(torch.corrcoef(torch.stack([_ranks(x), _ranks(y)]))[0, 1])


def sparsification(std: Tensor, error: Tensor) -> Tensor:
    """Mean absolute error of what is left when the most uncertain are left out, ``[20]``.

    Ilg et al. 2018, "Uncertainty estimates and multi-hypotheses networks". Equal uncertainties
    are in a random order, on average: each has their mean error.
    """
    values, tie = std.unique(return_inverse=True)
    sums = torch.zeros_like(values).index_add(0, tie, error.abs())
    mean = (sums / tie.bincount())[tie]
    kept = mean[std.argsort(stable=True)].cumsum(0)  # the most certain first
    share = torch.arange(SPARSIFICATION_STEPS, dtype=torch.float64) / SPARSIFICATION_STEPS
    count = (len(std) * (1 - share)).ceil().long().clamp(min=1).to(std.device)
    curve: Tensor = kept[count - 1] / count
    return curve


def auroc(positive: Tensor, negative: Tensor) -> float:
    """Probability that a positive is above a negative, ties one half (Mann & Whitney 1947)."""
    ranks = _ranks(torch.cat([positive, negative]))[: len(positive)]
    n = len(positive)
    return float((ranks.sum() - n * (n + 1) / 2) / (n * len(negative)))


def _ranks(x: Tensor) -> Tensor:
    """Ranks from 1 on, ties at their mean, ``[K]`` float64."""
    from scipy.stats import rankdata  # where it is needed: it takes a while

    return torch.from_numpy(rankdata(x.cpu().numpy()))
