"""Weights of an ensemble's members by Follow The Regularized Leader (section 5.2).

A member's loss is its divergence from the marginal of all, ``P̂ = 1/K Σ_k P_k``.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

KL = Literal["member-to-mix", "mix-to-member"]


def losses(log_probs: Tensor, kl: KL) -> Tensor:
    """``l_i``, ``[..., K]``: ``KL(P_i ‖ P̂)``, at most ln K, or ``KL(P̂ ‖ P_i)``.

    Args:
        log_probs: logarithms of the members' categorical distributions, ``[..., K, N]``.
        kl: which.
    """
    log_mix = torch.logsumexp(log_probs, -2, keepdim=True) - math.log(log_probs.shape[-2])
    if kl == "member-to-mix":
        return (log_probs.exp() * (log_probs - log_mix)).sum(-1)
    return (log_mix.exp() * (log_mix - log_probs)).sum(-1)


def weights(losses: Tensor, ftrl_lambda: float, sign: Literal[-1, 1]) -> Tensor:
    """``w_i = exp(± λ l_i) / Σ_j exp(± λ l_j)`` (equation 4, printed with +), ``[..., K]``."""
    return (sign * ftrl_lambda * losses).softmax(-1)
