"""The replay buffer: the latest transitions of every lane, with any named fields.

Its slots are numbered time by time, actor by actor: slot ``i`` is of actor ``i % K``.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Step, observation_dtype, observation_shape
from uqbench.lanes.clock import Clock
from uqbench_lanes.frame_stacks import FrameStacks


class ReplayBuffer:
    """A ring of transitions per lane; all lanes in lock-step, one of each actor added every step.

    Args:
        lanes: L.
        capacity: transitions kept per lane, of all its actors together.
        fields: shape and dtype of each field by name; whatever a method needs.
        clock: the step, which determines the slots of the next transitions, and K.

    Attributes:
        capacity: a multiple of K.
        exported: an agent acts without it.

    Raises:
        ValueError: there is no room for a transition of each actor.
    """

    exported: ClassVar[bool] = False

    def __init__(
        self,
        lanes: int,
        capacity: int,
        fields: Mapping[str, tuple[tuple[int, ...], torch.dtype]],
        clock: Clock,
    ) -> None:
        self._actors = actors = clock.actors
        self._times = times = capacity // actors
        if not times:
            raise ValueError(f"a capacity of {capacity} has no room for {actors} actors")
        self.capacity = times * actors
        self._clock = clock
        device = clock.tensor.device
        self._ring = {
            name: torch.zeros(times, lanes, actors, *shape, dtype=dtype, device=device)
            for name, (shape, dtype) in fields.items()
        }
        self._lane = torch.arange(lanes, device=device)[:, None]

    def __len__(self) -> int:
        """Number of transitions stored per lane, between two steps."""
        return min(self._clock.t, self.capacity)

    @property
    def _filled(self) -> int:
        return len(self) // self._actors

    @property
    def stored(self) -> Tensor:
        """Number of transitions stored per lane once this step's is added, ``[]`` int64."""
        return (self._clock.tensor + self._actors).clamp(max=self.capacity)

    def add(self, **transition: Tensor) -> None:
        """Store one transition of every actor, ``[L, K, *shape]`` by field.

        Raises:
            ValueError: the fields differ from the buffer's.
        """
        if transition.keys() != self._ring.keys():
            raise ValueError(f"expected the fields {sorted(self._ring)}, got {sorted(transition)}")
        if self._clock.tensor.is_cpu and not self._clock.captured:
            row = self._clock.t // self._actors % self._times
            for name, value in transition.items():
                into = self._ring[name][row]
                if value.shape != into.shape or value.dtype != into.dtype:
                    raise ValueError(
                        f"expected {name} {tuple(into.shape)} {into.dtype}, got "
                        f"{tuple(value.shape)} {value.dtype}"
                    )
                into.copy_(value)
            return
        slot = (self._clock.vector_step % self._times)[None]
        for name, value in transition.items():
            self._ring[name].index_copy_(0, slot, value[None])

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Transitions ``[L, B, *shape]`` at the slots ``index`` ``[L, B]``."""
        flat = self.rows(index).flatten()
        return {
            name: ring.flatten(0, 2).index_select(0, flat).unflatten(0, index.shape)
            for name, ring in self._ring.items()
        }

    def rows(self, index: Tensor) -> Tensor:
        """Rows of ``memory``, flattened to ``[times · L · K, *shape]``, at slots ``[L, B]``."""
        time, stream = self._places(index)
        return time * (len(self._lane) * self._actors) + stream

    @property
    def memory(self) -> Mapping[str, Tensor]:
        """The ring itself, ``[times, L, K, *shape]`` by field, for kernels that read it."""
        return self._ring

    def _places(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """The time slots of ``index`` ``[L, B]``, and which of the L · K streams each is of."""
        if self._actors == 1:
            return index, self._lane.expand_as(index)
        return index // self._actors, self._lane * self._actors + index % self._actors

    def state_dict(self) -> dict[str, Any]:
        """The stored transitions; unused slots are left out, booleans packed into bits."""
        ring = {name: ring[: self._filled] for name, ring in self._ring.items()}
        return {
            name: _packed(values) if values.dtype == torch.bool else values.clone()
            for name, values in ring.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``, after the clock."""
        for name, ring in self._ring.items():
            values, filled = state[name], ring[: self._filled]
            filled.copy_(_unpacked(values, filled.shape) if ring.dtype == torch.bool else values)


class TransitionBuffer(ReplayBuffer):
    """A replay buffer with the fields that Q-learning needs.

    Fields: ``obs``, ``action``, ``reward``, ``terminated``, ``next_obs``, ``next_valid``. Where
    observations stack frames, every frame is kept once.

    Args:
        lanes: L.
        capacity: transitions kept per lane, of all its actors together.
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
        streams = lanes * self._actors
        self._stacks = FrameStacks(streams, self._times, *obs, device) if stacked else None
        shape = (lanes, self._actors, info.n_actions)
        self._all_valid = torch.ones(shape, dtype=torch.bool, device=device)

    def store(self, step: Step, reward: Tensor) -> None:
        """Store a step of every actor, with the ``reward`` ``[L, K]`` to learn from."""
        observations = {"obs": step.obs, "next_obs": step.next_obs}
        if self._stacks is not None:
            ended = (step.terminated | step.truncated).flatten()
            places = self._stacks.add(step.obs.flatten(0, 1), step.next_obs.flatten(0, 1), ended)
            position, age = (place.view(step.action.shape) for place in places)
            observations = {"position": position, "age": age}
        self.add(
            **observations,
            action=step.action,
            reward=reward,
            terminated=step.terminated,
            next_valid=self._all_valid if step.valid_actions is None else step.valid_actions,
        )
        if self._clock.tensor.device.type == "cpu":  # a GPU would wait at every step
            self._check_frames(self._clock.t // self._actors + 1)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Transitions ``[L, B, *shape]`` at the slots ``index`` ``[L, B]``."""
        batch = super().gather(index)
        if self._stacks is not None:
            places = batch.pop("position"), batch.pop("age")
            _, stream = self._places(index)
            batch["obs"], batch["next_obs"] = self._stacks.gather(*places, stream)
        return batch

    def state_dict(self) -> dict[str, Any]:
        """The stored transitions, and the frames of stacked observations."""
        if self._stacks is None:
            return super().state_dict()
        self._check_frames(self._clock.t // self._actors)
        return {**super().state_dict(), "frames": self._stacks.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``, after the clock."""
        super().load_state_dict(state)
        if self._stacks is not None:
            self._stacks.load_state_dict(state["frames"])

    def _check_frames(self, steps: int) -> None:
        """Verify that the oldest transitions still have their frames after so many vector steps."""
        if self._stacks is not None and steps:
            oldest = steps % self._times if steps > self._times else 0
            places = (self._ring[name][oldest].flatten() for name in ("position", "age"))
            self._stacks.check(*places)


def _packed(values: Tensor) -> Tensor:
    """Booleans ``[*]`` as bits ``[bytes]`` uint8, on the CPU."""
    return torch.from_numpy(np.packbits(values.cpu().numpy()))


def _unpacked(packed: Tensor, shape: torch.Size) -> Tensor:
    """Inverse of ``_packed``: booleans ``[*]``."""
    bits = np.unpackbits(packed.cpu().numpy(), count=shape.numel())
    return torch.from_numpy(bits).view(torch.bool).view(shape)
