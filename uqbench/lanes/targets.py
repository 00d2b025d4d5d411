"""Target networks: a copy of the online network, synced with it at intervals."""

from __future__ import annotations

import copy
from typing import TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def target_copy(online: M) -> M:
    """A copy of a network that requires no gradients."""
    return copy.deepcopy(online).requires_grad_(False)


@torch.no_grad()
def sync_target(online: nn.Module, target: nn.Module) -> None:
    """``θ⁻ ← θ`` in every lane, in place."""
    for source, destination in zip(online.parameters(), target.parameters(), strict=True):
        destination.copy_(source)
