"""The replay buffer: the latest transitions of every lane, with any named fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench.agent import EnvironmentInfo, Step, observation_dtype, observation_shape
from uqbench.lanes.clock import Clock


class ReplayBuffer:
    """A ring of transitions per lane; all lanes in lock-step, one transition added every step.

    Args:
        lanes: L.
        capacity: transitions kept per lane.
        fields: shape and dtype of each field by name; whatever a method needs.
        clock: the step, which determines the slot of the next transition.
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
        """Number of transitions stored per lane, between two steps."""
        return min(self._clock.t, self.capacity)

    @property
    def stored(self) -> Tensor:
        """Number of transitions stored per lane once this step's is added, ``[]`` int64."""
        return (self._clock.tensor + 1).clamp(max=self.capacity)

    def add(self, **transition: Tensor) -> None:
        """Store one transition of every lane, ``[L, *shape]`` by field.

        Raises:
            ValueError: the fields differ from the buffer's.
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
        """The stored transitions; unused slots are left out, booleans packed into bits."""
        ring = {name: ring[: len(self)] for name, ring in self._ring.items()}
        return {
            name: _packed(values) if values.dtype == torch.bool else values.clone()
            for name, values in ring.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``, after the clock."""
        for name, ring in self._ring.items():
            values, kept = state[name], ring[: len(self)]
            kept.copy_(_unpacked(values, kept.shape) if ring.dtype == torch.bool else values)


class TransitionBuffer(ReplayBuffer):
    """A replay buffer with the fields that Q-learning needs.

    Fields: ``obs``, ``action``, ``reward``, ``terminated``, ``next_obs``, ``next_valid``.

    Args:
        lanes: L.
        capacity: transitions kept per lane.
        info: the environment.
        clock: the step.
    """

    def __init__(self, lanes: int, capacity: int, info: EnvironmentInfo, clock: Clock) -> None:
        obs = (observation_shape(info), observation_dtype(info))
        super().__init__(
            lanes,
            capacity,
            {
                "obs": obs,
                "action": ((), torch.int64),
                "reward": ((), torch.float32),
                "terminated": ((), torch.bool),
                "next_obs": obs,
                "next_valid": ((info.n_actions,), torch.bool),
            },
            clock,
        )
        device = clock.tensor.device
        self._all_valid = torch.ones(lanes, info.n_actions, dtype=torch.bool, device=device)

    def store(self, step: Step, reward: Tensor) -> None:
        """Store a step of every lane, with the ``reward`` ``[L]`` to learn from."""
        self.add(
            obs=step.obs,
            action=step.action,
            reward=reward,
            terminated=step.terminated,
            next_obs=step.next_obs,
            next_valid=self._all_valid if step.valid_actions is None else step.valid_actions,
        )


def _packed(values: Tensor) -> Tensor:
    """Booleans ``[*]`` as bits ``[bytes]`` uint8, on the CPU."""
    return torch.from_numpy(np.packbits(values.cpu().numpy()))


def _unpacked(packed: Tensor, shape: torch.Size) -> Tensor:
    """Inverse of ``_packed``: booleans ``[*]``."""
    bits = np.unpackbits(packed.cpu().numpy(), count=shape.numel())
    return torch.from_numpy(bits).view(torch.bool).view(shape)
