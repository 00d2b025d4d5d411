"""Optimisers over stacked parameters: elementwise, so lanes do not meet."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


def adam(
    parameters: Iterable[nn.Parameter], learning_rate: float, epsilon: float
) -> torch.optim.Adam:
    """Adam (Kingma & Ba 2015), all parameters in one fused kernel."""
    return torch.optim.Adam(parameters, lr=learning_rate, eps=epsilon, fused=True)
