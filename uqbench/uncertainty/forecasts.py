"""Scores of a predicted return distribution: CRPS, PIT, and its risk and spread.

Shapes: ``K`` forecasts, each of ``N`` atoms, and ``R`` outcomes of each; everything float64.
"""

import torch
from torch import Tensor

PIT_LEVELS = 100
"""Intervals of the grid on which a PIT's distribution function is computed."""


def crps(atoms: Tensor, probs: Tensor, outcomes: Tensor) -> Tensor:
    """``E|X − y| − ½ E|X − X'|`` of each forecast, averaged over its outcomes: ``[K]``.

    The continuous ranked probability score, in units of return; least in expectation for the true
    distribution. Gneiting & Raftery 2007, equation 21.

    Args:
        atoms: ``[K, N]``.
        probs: their probabilities, ``[K, N]``; a sum beside one, as far as it is valid, gains
            nothing.
        outcomes: ``[K, R]``.
    """
    probs = probs / probs.sum(-1, keepdim=True)
    distance = (atoms[:, :, None] - outcomes[:, None]).abs().mean(-1)
    return (probs * distance).sum(-1) - 0.5 * mean_difference(atoms, probs)


def mean_difference(atoms: Tensor, probs: Tensor) -> Tensor:
    """Gini's mean difference ``E|X − X'|`` of distributions ``[K, N]``: ``[K]``.

    ``2 ∫ F (1 − F) dx``, exact for atoms. What lies above is summed from above: one minus a sum
    below that rounds to 1 − 1e-7 would be worth 1e-7 of the distance to an atom that has no mass.
    """
    ordered, order = atoms.sort(-1)
    mass = probs.gather(-1, order)
    below, above = mass.cumsum(-1)[:, :-1], mass.flip(-1).cumsum(-1).flip(-1)[:, 1:]
    return 2 * (below * above * ordered.diff(dim=-1)).sum(-1)


def fair_crps_of_truth(outcomes: Tensor) -> Tensor:
    """The CRPS that the true distribution has in expectation, from samples of it: ``[K]``.

    ``½ E|Y − Y'|``, unbiased: pairs of a sample with itself are left out (Ferro 2014, "Fair scores
    for ensemble forecasts").
    """
    samples = outcomes.shape[-1]
    uniform = torch.full_like(outcomes, 1 / samples)
    return 0.5 * mean_difference(outcomes, uniform) * samples / (samples - 1)


def pit_distribution(atoms: Tensor, probs: Tensor, outcomes: Tensor) -> Tensor:
    """Distribution function of the probability integral transform, ``[PIT_LEVELS + 1]``.

    At 0, 1/100, …, 1; the diagonal for calibrated forecasts. An atom that is hit spreads its mass
    uniformly over its step (Czado, Gneiting & Held 2009), so that nothing is drawn.
    """
    below = (probs[:, :, None] * (atoms[:, :, None] < outcomes[:, None])).sum(1)
    hit = (probs[:, :, None] * (atoms[:, :, None] == outcomes[:, None])).sum(1)
    levels = torch.linspace(0, 1, PIT_LEVELS + 1, dtype=torch.float64, device=atoms.device)
    inside = levels[:, None, None] - below
    share = torch.where(hit > 0, inside / hit.clamp(min=1e-300), (inside >= 0).double())
    return share.clamp(0, 1).mean((1, 2))


def ks_distance(distribution: Tensor) -> float:
    """Kolmogorov–Smirnov distance of a PIT's distribution function from the uniform one."""
    levels = torch.linspace(0, 1, len(distribution), dtype=torch.float64)
    return float((distribution.cpu() - levels).abs().max())


def lower_tail_mean(atoms: Tensor, probs: Tensor, level: float) -> Tensor:
    """``CVaR_level``: the mean of the worst ``level`` of each distribution, ``[K]``."""
    ordered, order = atoms.sort(-1)
    mass = probs.gather(-1, order)
    before = mass.cumsum(-1) - mass
    return (torch.minimum(mass, (level - before).clamp(min=0)) * ordered).sum(-1) / level
