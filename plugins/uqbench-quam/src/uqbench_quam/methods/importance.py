"""Mixture importance sampling (Schweighofer et al. 2023, section 3 and B.2).

The adversarial models are the sample: a mixture of points, as in section C.1, so that equation 4
becomes a mean over the models along the searches, each weighted by its posterior. The weights are
normalized over the models, since the posterior is known only up to a constant.
"""

from __future__ import annotations

import torch
from torch import Tensor


def posterior_weights(losses: Tensor, temperature: float) -> Tensor:
    """``p(w̃ | D)^{1/T} ∝ exp(−L(w̃) / T)`` over the first dimension, section C.1.

    Args:
        losses: mean training loss of every model, ``[S, ...]``. With ``T = 1/n`` for n training
            points the weights are the likelihood itself; a smaller T sharpens it.
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
        cells: the volume of each grid cell; 1 for a sum over a discrete space.
    """
    expectation = (integrand * cells).sum()
    return (integrand.square() / proposal * cells).sum() - expectation.square()
