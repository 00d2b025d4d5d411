"""The limit of wide networks with a normal prior, a Gaussian process.

Neal 1996; Williams 1997. In that limit the outputs of a network are uncorrelated, and the posterior
given noisy points is exact: what Appendix C of Clements et al. 2019 compares finite networks with.
Everything is float64.
"""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor

from uqbench_uadqn.regression.config import Prior

HIDDEN_LAYERS = 2


def kernel(prior: Prior, x: Tensor, y: Tensor) -> Tensor:
    """Prior covariance of two-hidden-layer erf networks at inputs that broadcast: ``[*]``.

    ``k_0(x, y) = σ_b² + σ_w² x y``; each hidden layer makes ``σ_b² + σ_w² (2/π) asin(2 k(x, y) /
    √((1 + 2 k(x, x)) (1 + 2 k(y, y))))`` of it (Williams 1997, "Computing with infinite networks").
    """
    weight, bias = prior.weight_std**2, prior.bias_std**2
    across, own_x, own_y = (bias + weight * product for product in (x * y, x * x, y * y))
    for _ in range(HIDDEN_LAYERS):
        root_x, root_y = (1 + 2 * own_x).sqrt(), (1 + 2 * own_y).sqrt()
        across, own_x, own_y = (
            bias + weight * (2 / pi) * (2 * k / roots).clamp(-1, 1).asin()
            for k, roots in (
                (across, root_x * root_y),
                (own_x, root_x.square()),
                (own_y, root_y.square()),
            )
        )
    return across


def posterior_var(prior: Prior, noise: float, seen: Tensor, asked: Tensor) -> Tensor:
    """Exact epistemic variance at ``asked`` ``[M]``, given noisy targets at ``seen`` ``[n]``.

    ``k(x, x) − k(x, X) (k(X, X) + σ²_data 1)⁻¹ k(X, x)``, which no target enters.
    """
    covariance = kernel(prior, seen[:, None], seen) + noise**2 * torch.eye(len(seen))
    across = kernel(prior, seen[:, None], asked)
    factor = torch.linalg.cholesky(covariance)
    explained = torch.linalg.solve_triangular(factor, across, upper=False)
    variance: Tensor = kernel(prior, asked, asked) - explained.square().sum(0)
    return variance
