"""Target networks: a copy of the online parameters, renewed now and then."""

from __future__ import annotations

import copy
from typing import TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def target_copy(online: M) -> M:
    """A copy of a network that takes no gradients."""
    return copy.deepcopy(online).requires_grad_(False)


@torch.no_grad()
def copy_parameters(online: nn.Module, target: nn.Module) -> None:
    """``θ⁻ ← θ`` in every lane, in place."""
    for source, destination in zip(online.parameters(), target.parameters(), strict=True):
        destination.copy_(source)
