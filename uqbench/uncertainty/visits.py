"""Counts of training's visits to each state, where states can be counted."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.environment import LaneEnv


class Visits:
    """Counts the states in which a batch's lanes stand after each step of training.

    A state is looked up by the bytes of its observation, which takes as long for a hundred states
    as for ten: this is done after every step.

    Args:
        states: observations of the states that are counted, ``[M, *obs]``.
        lanes: L.
    """

    def __init__(self, states: Tensor, lanes: int) -> None:
        self._dtype = states.dtype
        self._number = {row: number for number, row in enumerate(_rows(states))}
        self._elsewhere = len(states)
        self._lanes = np.arange(lanes)[:, None]
        self._counts = np.zeros((lanes, len(states) + 1), np.int64)

    @property
    def counts(self) -> Tensor:
        """The number of visits of each lane to each state, ``[L, M]`` int64, on the CPU."""
        return torch.from_numpy(self._counts[:, : self._elsewhere])

    def see(self, step: int, env: LaneEnv, obs: Tensor) -> None:
        """Count what the lanes are to act on next, ``[L, K, *obs]``; other states are left out."""
        rows = _rows(obs.flatten(0, 1).to(self._dtype))
        numbers = np.array([self._number.get(row, self._elsewhere) for row in rows])
        np.add.at(self._counts, (self._lanes, numbers.reshape(obs.shape[:2])), 1)

    def state_dict(self) -> dict[str, Any]:
        """The counts so far."""
        return {"counts": self.counts.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self.counts.copy_(state["counts"])


def _rows(obs: Tensor) -> list[bytes]:
    """The bytes of each observation, the same for both zeros."""
    together = (obs + 0).cpu().numpy().tobytes()
    size = len(together) // len(obs)
    return [together[at : at + size] for at in range(0, len(together), size)]
