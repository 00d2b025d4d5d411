"""Mixtures of normal laws, and how far two of them are apart; all exact."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Law(NamedTuple):
    """A mixture of C normal components, ``[..., C]`` each; a standard deviation of 0 is an atom.

    Attributes:
        weights: of the components; they sum to one.
        means: of the components.
        stds: of the components.
    """

    weights: Tensor
    means: Tensor
    stds: Tensor


def mean_distance(one: Law, other: Law) -> Tensor:
    """``E|X − Y|`` of independent X and Y, ``[...]``.

    For normal laws: with ``d = μ − μ'`` and ``s² = σ² + σ'²``, ``d (2Φ(d/s) − 1) + 2 s φ(d/s)``.
    """
    d = one.means[..., :, None] - other.means[..., None, :]
    s = (one.stds[..., :, None].square() + other.stds[..., None, :].square()).sqrt()
    z = d / s.clamp(min=1e-150)
    density = torch.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi)
    each = d * torch.erf(z / math.sqrt(2)) + 2 * s * density
    return (one.weights[..., :, None] * other.weights[..., None, :] * each).sum((-1, -2))


def excess(forecast: Law, truth: Law) -> Tensor:
    """The forecast's CRPS beyond the truth's own, in expectation, ``[...]``; 0 only for the truth.

    ``E|X − Y| − ½ E|X − X'| − ½ E|Y − Y'|`` (Gneiting & Raftery 2007, eq. 22).
    """
    within = mean_distance(forecast, forecast) + mean_distance(truth, truth)
    return mean_distance(forecast, truth) - 0.5 * within
