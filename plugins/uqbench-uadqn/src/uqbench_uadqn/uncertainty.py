"""Estimators of epistemic and aleatoric uncertainty (Clements et al. 2019, section 2).

Quantiles lie along the last dimension, ``[..., N]``; variances are in squared return units. Only
the variances are unbiased: their square roots are biased low.
"""

from __future__ import annotations

from torch import Tensor


def epistemic_var(quantiles_a: Tensor, quantiles_b: Tensor) -> Tensor:
    """``σ̃²_epistemic = ½ E_i[(y_i(θ_A) − y_i(θ_B))²]``, unbiased (section 2.3, Prop. 2.3)."""
    return 0.5 * (quantiles_a - quantiles_b).square().mean(-1)


def aleatoric_var(quantiles_a: Tensor, quantiles_b: Tensor) -> Tensor:
    """``σ̃²_aleatoric = cov_i(y_i(θ_A), y_i(θ_B))``, unbiased, so it may be negative (eq. 7)."""
    centred_a = quantiles_a - quantiles_a.mean(-1, keepdim=True)
    centred_b = quantiles_b - quantiles_b.mean(-1, keepdim=True)
    return (centred_a * centred_b).mean(-1)


def biased_aleatoric_var(quantiles: Tensor) -> Tensor:
    """``var_i(y_i(θ))`` of one network: contains epistemic uncertainty too (Prop. 2.1)."""
    return quantiles.var(-1, correction=1)
