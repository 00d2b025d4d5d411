"""How often something happened recently, in every lane, counted on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from uqbench.lanes import Clock

BLOCKS = 100
"""Blocks of steps in a run: as many as its records, so that each reports on its own steps."""


class RecentShare:
    """The share of steps at which something happened, of each lane, block of steps by block.

    Args:
        lanes: L.
        total_steps: of the run.
        clock: the step.
    """

    def __init__(self, lanes: int, total_steps: int, clock: Clock) -> None:
        actors = clock.actors
        self._block = actors * max(1, total_steps // (BLOCKS * actors))
        self._clock = clock
        self._count = torch.zeros(lanes, device=clock.tensor.device)
        self._share = torch.full_like(self._count, torch.nan)

    def add(self, happened: Tensor) -> None:
        """Count whether it happened at this step, ``[L, K]`` bool; called once per vector step."""
        self._count += happened.sum(-1)
        ends = (self._clock.tensor + self._clock.actors) % self._block == 0
        self._share.copy_(torch.where(ends, self._count / self._block, self._share))
        self._count.masked_fill_(ends, 0)

    @property
    def latest(self) -> Tensor:
        """The share in the last full block, ``[L]``; NaN before there is one."""
        return self._share

    def state_dict(self) -> dict[str, Any]:
        """The current block and the last full one."""
        return {"count": self._count.clone(), "share": self._share.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._count.copy_(state["count"])
        self._share.copy_(state["share"])
