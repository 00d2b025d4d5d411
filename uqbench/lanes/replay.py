"""Replay: the last transitions of every lane, with any named fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench.lanes.clock import Clock


class Replay:
    """A ring of transitions per lane, all lanes in lock-step: one is added every step.

    Args:
        lanes: L.
        capacity: transitions kept per lane.
        fields: shape and dtype of each field by name; any field a method needs beside the usual.
        clock: the step, which says where the next transition goes.
    """

    def __init__(
        self,
        lanes: int,
        capacity: int,
        fields: Mapping[str, tuple[tuple[int, ...], torch.dtype]],
        clock: Clock,
    ) -> None:
        self.capacity = capacity
        self._clock = clock
        device = clock.tensor.device
        self._ring = {
            name: torch.zeros(capacity, lanes, *shape, dtype=dtype, device=device)
            for name, (shape, dtype) in fields.items()
        }
        self._lane = torch.arange(lanes, device=device)[:, None]

    def __len__(self) -> int:
        """Transitions of a lane, between two steps."""
        return min(self._clock.t, self.capacity)

    @property
    def stored(self) -> Tensor:
        """Transitions of a lane once this step's is added, ``[]`` int64."""
        return (self._clock.tensor + 1).clamp(max=self.capacity)

    def add(self, **transition: Tensor) -> None:
        """Store one transition of every lane, ``[L, *shape]`` by field.

        Raises:
            ValueError: the fields are not those of the replay.
        """
        if transition.keys() != self._ring.keys():
            raise ValueError(f"expected the fields {sorted(self._ring)}, got {sorted(transition)}")
        slot = (self._clock.tensor % self.capacity)[None]
        for name, value in transition.items():
            self._ring[name].index_copy_(0, slot, value[None])

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Transitions ``[L, B, *shape]`` at the slots ``index`` ``[L, B]``."""
        flat = (index * len(self._lane) + self._lane).flatten()
        return {
            name: ring.flatten(0, 1).index_select(0, flat).unflatten(0, index.shape)
            for name, ring in self._ring.items()
        }

    def state_dict(self) -> dict[str, Any]:
        """What was added so far; slots never written are left out, booleans packed into bits."""
        ring = {name: ring[: len(self)] for name, ring in self._ring.items()}
        return {
            name: _packed(values) if values.dtype == torch.bool else values.clone()
            for name, values in ring.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned, after the clock has."""
        for name, ring in self._ring.items():
            values, kept = state[name], ring[: len(self)]
            kept.copy_(_unpacked(values, kept.shape) if ring.dtype == torch.bool else values)


def _packed(values: Tensor) -> Tensor:
    """Booleans ``[*]`` as bits ``[bytes]`` uint8, on the CPU."""
    return torch.from_numpy(np.packbits(values.cpu().numpy()))


def _unpacked(packed: Tensor, shape: torch.Size) -> Tensor:
    """The booleans ``[*]`` that ``_packed`` was given."""
    bits = np.unpackbits(packed.cpu().numpy(), count=shape.numel())
    return torch.from_numpy(bits).view(torch.bool).view(shape)
