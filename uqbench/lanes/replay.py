"""Replay: the last transitions of every lane, with any named fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Replay:
    """A ring of transitions per lane, all lanes in lock-step.

    Args:
        lanes: L.
        capacity: transitions kept per lane.
        fields: shape and dtype of each field by name; any field a method needs beside the usual.
        device: where the ring lives.
    """

    def __init__(
        self,
        lanes: int,
        capacity: int,
        fields: Mapping[str, tuple[tuple[int, ...], torch.dtype]],
        device: torch.device,
    ) -> None:
        self.capacity = capacity
        self.added = 0
        self._lanes = lanes
        self._ring = {
            name: torch.zeros(lanes, capacity, *shape, dtype=dtype, device=device)
            for name, (shape, dtype) in fields.items()
        }
        self._first = (torch.arange(lanes, device=device) * capacity)[:, None]

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, **transition: Tensor) -> None:
        """Store one transition of every lane, ``[L, *shape]`` by field.

        Raises:
            ValueError: the fields are not those of the replay.
        """
        if transition.keys() != self._ring.keys():
            raise ValueError(f"expected the fields {sorted(self._ring)}, got {sorted(transition)}")
        slot = self.added % self.capacity
        for name, value in transition.items():
            self._ring[name][:, slot] = value
        self.added += 1

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Transitions ``[L, B, *shape]`` at the slots ``index`` ``[L, B]``."""
        flat = (index + self._first).flatten()
        return {
            name: ring.flatten(0, 1).index_select(0, flat).unflatten(0, index.shape)
            for name, ring in self._ring.items()
        }

    def state_dict(self) -> dict[str, Any]:
        """What was added so far; slots never written are left out, booleans packed into bits."""
        ring = {name: ring[:, : len(self)] for name, ring in self._ring.items()}
        return {
            "added": self.added,
            "ring": {
                name: _packed(values) if values.dtype == torch.bool else values.clone()
                for name, values in ring.items()
            },
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        self.added = state["added"]
        for name, ring in self._ring.items():
            values, kept = state["ring"][name], ring[:, : len(self)]
            kept.copy_(_unpacked(values, kept.shape) if ring.dtype == torch.bool else values)


def _packed(values: Tensor) -> Tensor:
    """Booleans ``[L, *]`` as bits ``[L, bytes]`` uint8, on the CPU."""
    return torch.from_numpy(np.stack([np.packbits(lane.cpu().numpy()) for lane in values]))


def _unpacked(packed: Tensor, shape: torch.Size) -> Tensor:
    """The booleans ``[L, *]`` that ``_packed`` was given."""
    bits = np.unpackbits(packed.cpu().numpy(), axis=1, count=shape[1:].numel())
    return torch.from_numpy(bits).view(torch.bool).view(shape)
