"""Estimators of epistemic and aleatoric uncertainty (Clements et al. 2019, section 2).

Quantiles lie along the last dimension, ``[..., N]``, samples θ of the posterior along the one
before, ``[..., S, N]``; variances are in squared return units. Only the variances are unbiased:
their square roots are biased low.

Three ways to the same two numbers: from two samples, as the paper's agent does (section 2.3); from
any number of samples, as the mean over their pairs; and exactly, where the samples *are* the
posterior, all equally likely (equations 4 and 5).
"""

from __future__ import annotations

from torch import Tensor

# -- from two samples -----------------------------------------------------------------------------


def epistemic_var(quantiles_a: Tensor, quantiles_b: Tensor) -> Tensor:
    """``σ̃²_epistemic = ½ E_i[(y_i(θ_A) − y_i(θ_B))²]``, unbiased (section 2.3, Prop. 2.3)."""
    return 0.5 * (quantiles_a - quantiles_b).square().mean(-1)


def aleatoric_var(quantiles_a: Tensor, quantiles_b: Tensor) -> Tensor:
    """``σ̃²_aleatoric = cov_i(y_i(θ_A), y_i(θ_B))``, unbiased, so it may be negative (eq. 7)."""
    centered_a = quantiles_a - quantiles_a.mean(-1, keepdim=True)
    centered_b = quantiles_b - quantiles_b.mean(-1, keepdim=True)
    return (centered_a * centered_b).mean(-1)


def biased_aleatoric_var(quantiles: Tensor) -> Tensor:
    """``var_i(y_i(θ))`` of one network: contains epistemic uncertainty too (Prop. 2.1)."""
    return quantiles.var(-1, correction=1)


# -- from any number of samples -------------------------------------------------------------------


def pairs_epistemic_var(samples: Tensor) -> Tensor:
    """The mean of :func:`epistemic_var` over all pairs of S ≥ 2 samples: unbiased, ``[...]``."""
    return samples.mT.var(-1, correction=1).mean(-1)


def pairs_aleatoric_var(samples: Tensor) -> Tensor:
    """The mean of :func:`aleatoric_var` over all pairs of S ≥ 2 samples: unbiased, ``[...]``.

    ``cov_i`` is bilinear: all S² pairs have a mean of ``var_i(E_θ y_i)``, of which the S of a
    sample with itself are taken away.
    """
    count = samples.shape[-2]
    all_pairs = posterior_aleatoric_var(samples)
    with_itself = samples.var(-1, correction=0).mean(-1)
    return (count * all_pairs - with_itself) / (count - 1)


# -- where the samples are the posterior ----------------------------------------------------------


def posterior_epistemic_var(samples: Tensor) -> Tensor:
    """``σ²_epistemic = E_i[var_θ(y_i)]`` (eq. 4), ``[...]``."""
    return samples.mT.var(-1, correction=0).mean(-1)


def posterior_aleatoric_var(samples: Tensor) -> Tensor:
    """``σ²_aleatoric = var_i(E_θ[y_i])`` (eq. 5), ``[...]``."""
    return samples.mT.mean(-1).var(-1, correction=0)


def total_var(samples: Tensor) -> Tensor:
    """``var_{θ,i}(y_i) = σ²_epistemic + σ²_aleatoric`` (Prop. 2.2), ``[...]``."""
    return samples.flatten(-2).var(-1, correction=0)
