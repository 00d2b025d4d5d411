"""Regression by infinitely wide ReLU networks: a Gaussian process, in closed form.

With independent normal weights of variance ``s² / inputs of the layer`` and biases of variance 1,
the outputs of a layer become a Gaussian process as its inputs grow in number (Neal 1996; Lee et al.
2018, "Deep neural networks as Gaussian processes"), with the arc-cosine kernel of Cho & Saul 2009.
The posterior of a squared loss then is that of a Gaussian process regression.
"""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor


def kernel(
    first: Tensor, second: Tensor, input_variance: float, scales: tuple[float, ...]
) -> Tensor:
    """Prior covariance of the outputs at ``first`` and ``second``, ``[A, B]``.

    Args:
        first: inputs, ``[A, D]``.
        second: likewise, ``[B, D]``.
        input_variance: variance of the first layer's weights.
        scales: ``s²`` of each layer of weights after the first.
    """
    across = 1 + input_variance * first @ second.T
    of_first, of_second = (1 + input_variance * x.square().sum(-1) for x in (first, second))
    for scale in scales:
        norm = (of_first[:, None] * of_second).sqrt()
        angle = (across / norm).clamp(-1, 1).arccos()
        across = 1 + scale * norm * (angle.sin() + (pi - angle) * angle.cos()) / (2 * pi)
        of_first, of_second = 1 + scale * of_first / 2, 1 + scale * of_second / 2
    return across


def posterior(
    inputs: Tensor,
    targets: Tensor,
    points: Tensor,
    noise_var: float,
    input_variance: float,
    scales: tuple[float, ...],
) -> tuple[Tensor, Tensor]:
    """Mean ``[B]`` and covariance ``[B, B]`` of the function at ``points``, float64.

    Args:
        inputs: of the training data, ``[n, D]``; without any, the prior's are returned.
        targets: ``[n]``.
        points: where to predict, ``[B, D]``.
        noise_var: variance of the targets' noise.
        input_variance: see :func:`kernel`.
        scales: see :func:`kernel`.
    """
    inputs, targets, points = inputs.double(), targets.double(), points.double()
    noisy = kernel(inputs, inputs, input_variance, scales)
    noisy = noisy + noise_var * torch.eye(len(inputs), dtype=torch.float64)
    across = kernel(inputs, points, input_variance, scales)
    factor = torch.linalg.cholesky(noisy)
    mean = across.mT @ torch.cholesky_solve(targets[:, None], factor).squeeze(-1)
    explained = torch.linalg.solve_triangular(factor, across, upper=False)
    return mean, kernel(points, points, input_variance, scales) - explained.mT @ explained


def marginals(
    inputs: Tensor,
    targets: Tensor,
    points: Tensor,
    noise_var: float,
    input_variance: float,
    scales: tuple[float, ...],
) -> tuple[Tensor, Tensor]:
    """Means ``[B, T]`` of several functions at ``points`` ``[B, D]``, and their variance ``[B]``.

    As :func:`posterior`, of targets ``[n, T]``, without the covariances between points, and with a
    prior whose variance is so many times the kernel's as makes the targets most likely:
    ``tr(Yᵀ (K + σ² 1)⁻¹ Y) / (n T)``.
    """
    inputs, points = inputs.double(), points.double()
    noisy = kernel(inputs, inputs, input_variance, scales)
    factor = torch.linalg.cholesky(noisy + noise_var * torch.eye(len(inputs), dtype=torch.float64))
    weights = torch.cholesky_solve(targets.double(), factor)
    prior = 1 + input_variance * points.square().sum(-1)
    for scale in scales:
        prior = 1 + scale * prior / 2
    across = kernel(inputs, points, input_variance, scales)
    explained = torch.linalg.solve_triangular(factor, across, upper=False).square().sum(0)
    likeliest = (targets * weights).mean()
    return across.mT @ weights, likeliest * (prior - explained).clamp(min=0)
