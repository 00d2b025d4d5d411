"""Categorical return distributions on a fixed support (Bellemare et al. 2017, section 4)."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def support(atoms: int, v_min: float, v_max: float) -> Tensor:
    """``z_i = V_min + i Δz``, ``Δz = (V_max − V_min) / (N − 1)``: ``[N]``."""
    return torch.linspace(v_min, v_max, atoms)


def logits_at_zero(support: Tensor, share: float = 0.999) -> Tensor:
    """Logits ``[N]`` of a law with this share at the atom nearest to 0, the rest on all others.

    A uniform law starts at the support's middle, which γ takes away at each sync of the target
    network alone: after k syncs ``γ^k`` of it is left, and 200 of them are a short run.
    """
    logits = torch.zeros_like(support)
    logits[support.abs().argmin()] = math.log(share / (1 - share) * (len(support) - 1))
    return logits


def project(values: Tensor, probabilities: Tensor, support: Tensor) -> Tensor:
    """``(Φ T̂ Z)_i = Σ_j [1 − |[T̂ z_j]_{V_min}^{V_max} − z_i| / Δz]₀¹ p_j`` (equation 7).

    The mass of each value, clipped to the support, is split between its two neighbors in
    proportion to nearness: mass is kept, and so is the mean where nothing is clipped.

    Args:
        values: ``[..., N]``, the T̂ z_j; broadcast.
        probabilities: ``[..., N]``, the p_j; broadcast.
        support: ``[N]``, the z_i, evenly spaced and ascending; their number may be another.
    """
    values, probabilities = torch.broadcast_tensors(values, probabilities)
    atoms = len(support)
    position = (values - support[0]) * ((atoms - 1) / (support[-1] - support[0]))
    position = position.clamp(0, atoms - 1)
    # the last atom belongs to the interval below it
    below = position.floor().clamp(max=atoms - 2)
    above_share = (position - below) * probabilities
    index = below.long()
    projected = probabilities.new_zeros(*probabilities.shape[:-1], atoms)
    projected.scatter_add_(-1, index, probabilities - above_share)
    return projected.scatter_add_(-1, index + 1, above_share)


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """``−Σ_i m_i log p_i`` of outputs ``[..., N]`` and projected targets ``[..., N]``: ``[...]``.

    The part of ``KL(Φ T̂ Z ‖ Z)`` that has a gradient.
    """
    return -(target * logits.log_softmax(-1)).sum(-1)
