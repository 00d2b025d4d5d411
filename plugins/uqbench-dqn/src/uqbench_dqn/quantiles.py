"""Quantile regression for return distributions."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def midpoint_levels(n: int) -> Tensor:
    """Quantile levels ``τ_i = (i + 1/2) / N``, ``i = 0 … N−1`` (Dabney et al. 2017, Lemma 2).

    Clements et al. 2019 write ``i / (N + 1)``; their released code has midpoints.
    """
    return (torch.arange(n) + 0.5) / n


def centered_quantiles(n: int) -> Tensor:
    """Quantiles ``[N]`` of a standard normal law, whose mean is 0.

    N equal quantiles mean 0, too, but they do not learn where κ = 0 and rewards are rare: gradients
    are signs there, and only the spread of a law makes their mean depend on an error's size.
    """
    quantiles: Tensor = torch.special.ndtri(midpoint_levels(n))
    return quantiles


def quantile_loss(quantiles: Tensor, samples: Tensor, levels: Tensor, kappa: float = 0.0) -> Tensor:
    """``Σ_i E_z[ρ_{τ_i}(z − q_i)]`` (Clements et al. 2019, eq. 1): sum over i, mean over samples.

    With ``kappa`` > 0 ``|u|`` is smoothed by the Huber function, which is not divided by κ.

    Args:
        quantiles: ``[..., N]``, the q_i.
        samples: ``[..., S]``, the z.
        levels: ``[N]``, the τ_i.
        kappa: κ, in units of return.

    Returns:
        ``[...]``.
    """
    if kappa == 0.0:
        # ρ_τ(u) = τ u + max(−u, 0); the first term needs no table of pairs
        below = (quantiles[..., :, None] - samples[..., None, :]).relu().mean(-1)
        return (levels * (samples.mean(-1, keepdim=True) - quantiles) + below).sum(-1)
    u = samples[..., None, :] - quantiles[..., :, None]
    weight = (levels[:, None] - (u < 0).to(u.dtype)).abs()
    rho = weight * F.huber_loss(u, torch.zeros_like(u), reduction="none", delta=kappa)
    return rho.mean(-1).sum(-1)
