"""Optimisers over stacked parameters: elementwise, so that lanes do not meet.

One trap: the fused CPU kernel rounds the tail of a tensor, what is left over of whole SIMD vectors,
differently. Where a lane's share is no multiple of a vector, its numbers would depend on where in
the tensor it lies. Such tensors (small: the last layer's biases) take the for-each kernels.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

VECTOR = 16
"""Floats in the widest SIMD vector (AVX-512)."""


def adam(
    parameters: Iterable[nn.Parameter], learning_rate: float, epsilon: float
) -> torch.optim.Adam:
    """Adam (Kingma & Ba 2015) over parameters ``[L, ...]``."""
    fused: list[nn.Parameter] = []
    foreach: list[nn.Parameter] = []
    for parameter in parameters:
        (foreach if parameter[0].numel() % VECTOR else fused).append(parameter)
    groups = [
        {"params": fused, "fused": True, "foreach": False},
        {"params": foreach, "fused": False, "foreach": True},
    ]
    return torch.optim.Adam(
        [group for group in groups if group["params"]], lr=learning_rate, eps=epsilon
    )
