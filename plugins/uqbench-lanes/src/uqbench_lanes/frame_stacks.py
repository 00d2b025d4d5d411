"""Observations that stack the last frames, every frame kept once.

A transition of Atari holds eight images, of which its neighbors hold seven, too: a million take
56 GB as ``obs`` and ``next_obs``, and 7.5 GB here (Mnih et al. 2015 keep a million).
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

SHORTEST_EPISODES = 16  # mean length for which there is room: a frame more for every episode
LEAST_SPARE = 64  # frames, for runs of a few steps
PLACES = "count", "age", "begins"  # of each lane: where its frames end, and the coming one's place


class FrameStacks:
    """The frames of the latest transitions of every lane, and where each transition's lie.

    A frame is added for every step and one for every episode's beginning. An observation is known
    by the position of its newest frame and by its age, the number of frames of its own episode
    before that one: older ones are the episode's first frame again.

    Args:
        lanes: L, or the streams of all lanes: L · K with actors.
        capacity: transitions per lane whose frames are kept.
        shape: of an observation, ``[frames, *frame]``, the newest frame last.
        dtype: of a frame.
    """

    def __init__(
        self,
        lanes: int,
        capacity: int,
        shape: tuple[int, ...],
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._stack = shape[0]
        self._room = capacity + max(capacity // SHORTEST_EPISODES, LEAST_SPARE) + self._stack
        self._frames = torch.zeros(self._room, lanes, *shape[1:], dtype=dtype, device=device)
        self._count = torch.zeros(lanes, dtype=torch.int64, device=device)  # frames ever added
        self._age = torch.zeros(lanes, dtype=torch.int64, device=device)
        self._begins = torch.ones(lanes, dtype=torch.bool, device=device)
        self._lane = torch.arange(lanes, device=device)
        self._back = torch.arange(self._stack - 1, -1, -1, device=device)  # oldest frame first

    def add(self, obs: Tensor, next_obs: Tensor, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the frames of a transition of every lane.

        Args:
            obs: ``[L, frames, *frame]``.
            next_obs: ``[L, frames, *frame]``.
            ended: ``[L]`` bool, whether the episode ends with this transition.

        Returns:
            position and age of ``obs``, ``[L]`` int64 each, for :meth:`gather`.
        """
        newest = torch.where(self._begins, self._count, self._count - 1)
        self._frames.index_put_((newest % self._room, self._lane), obs[:, -1])
        self._frames.index_put_(((newest + 1) % self._room, self._lane), next_obs[:, -1])
        self._count.copy_(newest + 2)
        self._age.copy_(torch.where(self._begins, 0, (self._age + 1).clamp(max=self._stack - 1)))
        self._begins.copy_(ended)
        return newest, self._age.clone()

    def gather(self, position: Tensor, age: Tensor, stream: Tensor) -> tuple[Tensor, Tensor]:
        """``obs``, ``next_obs`` ``[..., frames, *frame]``.

        Args:
            position: as ``add`` returned it, ``[...]``.
            age: likewise.
            stream: the lane that each was added to.
        """
        following = (age + 1).clamp(max=self._stack - 1)
        return (
            self._stacked(position, age, stream),
            self._stacked(position + 1, following, stream),
        )

    def _stacked(self, position: Tensor, age: Tensor, stream: Tensor) -> Tensor:
        """Observations ``[..., frames, *frame]``."""
        back = torch.minimum(self._back, age[..., None])
        flat = (position[..., None] - back) % self._room * len(self._lane) + stream[..., None]
        frames = self._frames.flatten(0, 1).index_select(0, flat.flatten())
        return frames.view(*flat.shape, *frames.shape[1:])

    def check(self, position: Tensor, age: Tensor) -> None:
        """Verify that a stored transition's frames, ``[L]`` each, were not overwritten; waits.

        Raises:
            ValueError: the episodes are so short that their first frames fill the spare room.
        """
        lost = position - age < self._count - self._room
        if lost.any():
            raise ValueError(
                f"the frames of the oldest transitions of lane {int(lost.nonzero()[0])} are gone: "
                f"there is room for episodes of {SHORTEST_EPISODES} steps and more on average; "
                f"lower replay_capacity, or do not stack frames by FrameStackObservation"
            )

    def state_dict(self) -> dict[str, Any]:
        """The frames, without room never used, and where they end."""
        used = min(int(self._count.max()), self._room)
        places = {name: getattr(self, f"_{name}").clone() for name in PLACES}
        return {"frames": self._frames[:used].clone(), **places}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._frames[: len(state["frames"])].copy_(state["frames"])
        for name in PLACES:
            getattr(self, f"_{name}").copy_(state[name])
