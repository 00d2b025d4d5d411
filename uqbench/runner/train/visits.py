"""How often training came to each state, where states can be counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from uqbench.environment import LaneEnv


class Visits:
    """Counts the states in which a batch's lanes stand after each step of training.

    Args:
        states: observations of the states that are counted, ``[M, *obs]``.
        lanes: L.

    Attributes:
        counts: ``[L, M]`` int64.
    """

    def __init__(self, states: Tensor, lanes: int) -> None:
        self._states = states.flatten(1) if states.ndim > 1 else states[:, None]
        self.counts = torch.zeros(lanes, len(states), dtype=torch.int64, device=states.device)

    def see(self, step: int, env: LaneEnv, obs: Tensor) -> None:
        """Count what the lanes are to act on next, ``[L, *obs]``; other states are left out."""
        flat = obs.flatten(1) if obs.ndim > 1 else obs[:, None]
        self.counts += (flat[:, None] == self._states).all(-1)

    def state_dict(self) -> dict[str, Any]:
        """The counts so far."""
        return {"counts": self.counts.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self.counts.copy_(state["counts"])
