"""The replay buffer: the latest transitions of every lane, with any named fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench.agent import EnvironmentInfo, Step, observation_dtype, observation_shape
from uqbench.lanes.clock import Clock
from uqbench.lanes.frame_stacks import FrameStacks


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

    Fields: ``obs``, ``action``, ``reward``, ``terminated``, ``next_obs``, ``next_valid``. Where
    observations stack frames, every frame is kept once.

    Args:
        lanes: L.
        capacity: transitions kept per lane.
        info: the environment.
        clock: the step.
    """

    def __init__(self, lanes: int, capacity: int, info: EnvironmentInfo, clock: Clock) -> None:
        device = clock.tensor.device
        obs = (observation_shape(info), observation_dtype(info))
        place: tuple[tuple[int, ...], torch.dtype] = ((), torch.int64)
        stacked = info.stacks_frames
        super().__init__(
            lanes,
            capacity,
            {
                **({"position": place, "age": place} if stacked else {"obs": obs, "next_obs": obs}),
                "action": ((), torch.int64),
                "reward": ((), torch.float32),
                "terminated": ((), torch.bool),
                "next_valid": ((info.n_actions,), torch.bool),
            },
            clock,
        )
        self._stacks = FrameStacks(lanes, capacity, *obs, device) if stacked else None
        self._all_valid = torch.ones(lanes, info.n_actions, dtype=torch.bool, device=device)

    def store(self, step: Step, reward: Tensor) -> None:
        """Store a step of every lane, with the ``reward`` ``[L]`` to learn from."""
        observations = {"obs": step.obs, "next_obs": step.next_obs}
        if self._stacks is not None:
            ended = step.terminated | step.truncated
            position, age = self._stacks.add(step.obs, step.next_obs, ended)
            observations = {"position": position, "age": age}
        self.add(
            **observations,
            action=step.action,
            reward=reward,
            terminated=step.terminated,
            next_valid=self._all_valid if step.valid_actions is None else step.valid_actions,
        )
        if self._clock.tensor.device.type == "cpu":  # a GPU would wait at every step
            self._check_frames(self._clock.t + 1)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Transitions ``[L, B, *shape]`` at the slots ``index`` ``[L, B]``."""
        batch = super().gather(index)
        if self._stacks is not None:
            places = batch.pop("position"), batch.pop("age")
            batch["obs"], batch["next_obs"] = self._stacks.gather(*places)
        return batch

    def state_dict(self) -> dict[str, Any]:
        """The stored transitions, and the frames of stacked observations."""
        if self._stacks is None:
            return super().state_dict()
        self._check_frames(self._clock.t)
        return {**super().state_dict(), "frames": self._stacks.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``, after the clock."""
        super().load_state_dict(state)
        if self._stacks is not None:
            self._stacks.load_state_dict(state["frames"])

    def _check_frames(self, steps: int) -> None:
        """Verify that the oldest transition still has its frames once so many were added."""
        if self._stacks is not None and steps:
            oldest = steps % self.capacity if steps > self.capacity else 0
            self._stacks.check(self._ring["position"][oldest], self._ring["age"][oldest])


def _packed(values: Tensor) -> Tensor:
    """Booleans ``[*]`` as bits ``[bytes]`` uint8, on the CPU."""
    return torch.from_numpy(np.packbits(values.cpu().numpy()))


def _unpacked(packed: Tensor, shape: torch.Size) -> Tensor:
    """Inverse of ``_packed``: booleans ``[*]``."""
    bits = np.unpackbits(packed.cpu().numpy(), count=shape.numel())
    return torch.from_numpy(bits).view(torch.bool).view(shape)
