"""The categorical-Dirichlet model of ``p(s' | s, a)``, with moments in closed form.

Parameters ``c`` lie along the last dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def dirichlet_update(counts: Tensor) -> Tensor:
    """One more transition: ``c_{s,a,s'} ← c_{s,a,s'} + 1``."""
    return counts + 1


def dirichlet_mean(counts: Tensor) -> Tensor:
    """``E[p(s' | s, a)] = c_{s,a,s'} / n`` with ``n = Σ c_{s,a}``."""
    return counts / counts.sum(-1, keepdim=True)


def variance_of_expectation(counts: Tensor, values: Tensor) -> Tensor:
    """``Var_p[Σ_s' p(s') x(s')] = (E[x²] − E[x]²) / (n + 1)``, moments under the mean of ``p``.

    A sum of squares, so that rounding cannot make it negative.

    Args:
        counts: c, ``[*, S']``.
        values: x, ``[*, S']``.

    Returns:
        ``[*]``, in squared units of x.
    """
    mean = dirichlet_mean(counts)
    centered = values - (mean * values).sum(-1, keepdim=True)
    return (mean * centered**2).sum(-1) / (counts.sum(-1) + 1)


def dirichlet_sample(
    counts: Tensor, generators: Sequence[np.random.Generator], count: int
) -> Tensor:
    """``[L, K, *, S']`` samples of Dirichlets ``[L, *, S']``: gamma variables over their sum.

    Gamma variables are drawn by rejection, so every lane needs its own generator.
    """
    gammas = standard_gamma(counts, generators, count)
    return gammas / gammas.sum(-1, keepdim=True)


def standard_gamma(shape: Tensor, generators: Sequence[np.random.Generator], count: int) -> Tensor:
    """``[L, K, *]`` gamma variables of rate 1 with shapes ``[L, *]``; lane i uses generator i."""
    drawn = np.empty((len(shape), count, *shape.shape[1:]))
    for out, own, generator in zip(drawn, shape.cpu().numpy(), generators, strict=True):
        generator.standard_gamma(np.broadcast_to(own, out.shape), out=out)
    return torch.from_numpy(drawn).to(shape.device)
