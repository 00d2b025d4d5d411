"""Orthogonal initial weights whose bits no library decides: sums have one order."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench_lanes.kernels.cpu import compiled_once

WIDTH = 16
"""Partial sums, which processors with any vectors make alike."""


def orthogonal(weight: Tensor, gain: float, *, generator: torch.Generator) -> None:
    """Draw what :func:`torch.nn.init.orthogonal_` draws, ``[in, out]``; by Gram and Schmidt.

    Twice, in float64, which is as good as a QR decomposition; signs are those of a triangular
    factor with a positive diagonal, so that weights are torch's but for rounding.
    """
    drawn = torch.empty_like(weight).normal_(generator=generator)
    short = drawn if drawn.shape[0] <= drawn.shape[1] else drawn.mT
    rows = np.zeros((short.shape[0], -(-short.shape[1] // WIDTH) * WIDTH))
    rows[:, : short.shape[1]] = short.numpy()
    orthonormalize(rows, np.zeros(WIDTH))
    made = torch.from_numpy(rows[:, : short.shape[1]]).to(weight.dtype)
    weight.copy_(made if short is drawn else made.mT).mul_(gain)


@compiled_once("uqbench_lanes.kernels")
def orthonormalize(rows: Any, sums: Any) -> None:
    """Make rows ``[n, m]``, n ≤ m, orthonormal, in place; ``sums`` is scratch for 16 numbers."""
    n, m = rows.shape
    for i in range(n):
        for turn in range(2 * i + 1):
            j = i if turn == 2 * i else turn % i
            for v in range(WIDTH):
                sums[v] = 0.0
            for k in range(0, m, WIDTH):
                for v in range(WIDTH):
                    sums[v] += rows[i, k + v] * rows[j, k + v]
            product = 0.0
            for v in range(WIDTH):
                product += sums[v]
            if j == i:
                length = np.sqrt(product)
                for k in range(m):
                    rows[i, k] /= length
            else:
                for k in range(m):
                    rows[i, k] -= product * rows[j, k]
