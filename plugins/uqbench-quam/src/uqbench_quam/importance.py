"""Mixture importance sampling (Schweighofer et al. 2023, section 3 and B.2).

The adversarial models are the sample: a mixture of points, as in section C.1, so that what remains
of equation 4 is a mean over the models met in the searches, each weighted by its posterior. The
weights are normalized over the models, since the posterior is known up to a constant.
"""

from __future__ import annotations

import torch
from torch import Tensor


def posterior_weights(losses: Tensor, temperature: float) -> Tensor:
    """``p(w̃ | D)^{1/T} ∝ exp(−L(w̃) / T)`` over the first dimension, section C.1.

    Args:
        losses: mean training loss of every model, ``[S, ...]``; with ``T = 1/n`` of n training
            points this is the likelihood itself, below it is sharpened.
        temperature: T.

    Returns:
        Weights that sum to one over the models.
    """
    return torch.softmax((-losses.double() / temperature).movedim(0, -1).contiguous(), -1).movedim(
        -1, 0
    )


def asymptotic_variance(integrand: Tensor, proposal: Tensor, cells: Tensor | float) -> Tensor:
    """``σ² = ∫ (f p / q)² q dx − s²`` of an importance sampler, equation 33, on a grid.

    Args:
        integrand: ``f p`` at the grid's points, ``[G]``.
        proposal: the density q there, ``[G]``.
        cells: the volume that a point stands for; 1 for a sum over a discrete space.
    """
    expectation = (integrand * cells).sum()
    return (integrand.square() / proposal * cells).sum() - expectation.square()
