"""CartPole-v0 of Gymnasium for lanes: all poles of a batch step in a few array operations.

The dynamics are those of ``gymnasium.envs.classic_control.CartPoleEnv`` in its order of operations
(Barto, Sutton & Anderson 1983; Euler's method, 0.02 s), so a lane has the package's numbers bit for
bit. Falls are its event, and checkpoints are small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.contract.errors import UqbenchError

GRAVITY = 9.8
POLE_MASS = 0.1
TOTAL_MASS = POLE_MASS + 1.0
HALF_LENGTH = 0.5
POLE_MASS_LENGTH = POLE_MASS * HALF_LENGTH
FORCE = 10.0
SECONDS = 0.02
FARTHEST = 2.4
STEEPEST = 12 * 2 * math.pi / 360
START = 0.05
N_ACTIONS = 2


@dataclass(frozen=True)
class CartPoleConfig:
    """CartPole has no settings."""


class CartPoleLanes(LaneEnv):
    """CartPole-v0 of Gymnasium for lanes; events: falls.

    The reward is 1 per step. A fall is an end by the physics: 12° from upright or 2.4 units from
    the center.

    Source: Barto, Sutton & Anderson 1983; Gymnasium
    """

    n_actions = N_ACTIONS

    def __init__(
        self,
        config: CartPoleConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        bound = np.array([2 * FARTHEST, np.inf, 2 * STEEPEST, np.inf], np.float32)
        self.observation_space = spaces.Box(-bound, bound, dtype=np.float32)
        self._seeds = list(seeds)
        self._limit = time_limit
        self._device = device or torch.device("cpu")
        self._streams = [gymnasium.utils.seeding.np_random(seed)[0] for seed in self._seeds]
        self._state = np.zeros((4, len(self._seeds)))
        self._length = np.zeros(len(self._seeds), np.int64)

    def reset(self) -> tuple[Tensor, None]:
        """Start, every lane with its own seed."""
        self._streams = [gymnasium.utils.seeding.np_random(seed)[0] for seed in self._seeds]
        return self.begin(), None

    def begin(self) -> Tensor:
        """Begin new episodes from the current random streams; returns their observations."""
        self._begin(range(len(self._seeds)))
        return self._observations()

    def step(self, action: Tensor) -> Outcome:
        """Push every cart: 0 to the left, 1 to the right."""
        pushed = action.cpu().numpy()
        if ((pushed < 0) | (pushed >= N_ACTIONS)).any():
            raise UqbenchError(f"expected actions 0 or 1, got {pushed.tolist()}")
        self._state = dynamics(self._state, pushed)
        self._length += 1
        x, _, theta, _ = self._state
        fell = (np.abs(x) > FARTHEST) | (np.abs(theta) > STEEPEST)
        over = np.zeros_like(fell)
        if self._limit is not None:
            over = (self._length >= self._limit.steps) & ~fell
        terminal = self._limit is not None and self._limit.kind == "terminal"
        final = self._observations()
        self._begin(np.flatnonzero(fell | over))
        return Outcome(
            reward=torch.ones(len(fell), device=self._device),
            terminated=self._tensor(fell | over if terminal else fell),
            truncated=self._tensor(np.zeros_like(over) if terminal else over),
            next_obs=final,
            obs=self._observations(),
            events={"falls": self._tensor(fell.astype(np.float32))},
        )

    def _begin(self, lanes: Sequence[int] | NDArray[np.int64]) -> None:
        for lane in lanes:
            self._state[:, lane] = self._streams[lane].uniform(-START, START, 4)
            self._length[lane] = 0

    def _observations(self) -> Tensor:
        return self._tensor(self._state.T.astype(np.float32))

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)

    def state_dict(self) -> dict[str, Any]:
        """Carts, poles, lengths of the episodes and the random streams."""
        return {
            "state": torch.from_numpy(self._state.copy()),
            "length": torch.from_numpy(self._length.copy()),
            "streams": [stream.bit_generator.state for stream in self._streams],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._state[:] = state["state"].numpy()
        self._length[:] = state["length"].numpy()
        for stream, saved in zip(self._streams, state["streams"], strict=True):
            stream.bit_generator.state = saved

    def copy_lanes(
        self, into: Tensor, other: LaneEnv, lanes: Tensor, *, random_numbers: bool
    ) -> None:
        """Copy carts, poles and lengths; random numbers serve the beginnings of episodes."""
        if not isinstance(other, CartPoleLanes):
            raise TypeError(f"expected CartPoleLanes to copy from; got {other!r}")
        to, source = into.cpu().numpy(), lanes.cpu().numpy()
        self._state[:, to] = other._state[:, source]
        self._length[to] = other._length[source]
        if random_numbers:
            for lane, original in zip(to.tolist(), source.tolist(), strict=True):
                state = other._streams[original].bit_generator.state
                self._streams[lane].bit_generator.state = state


def dynamics(state: NDArray[np.float64], action: NDArray[np.int64]) -> NDArray[np.float64]:
    """The state ``[4, L]`` (x, ẋ, θ, θ̇; meters, radians, seconds) after a push ``[L]``."""
    x, x_dot, theta, theta_dot = state
    force = np.where(action == 1, FORCE, -FORCE)
    cos, sin = np.cos(theta), np.sin(theta)
    push = (force + POLE_MASS_LENGTH * np.square(theta_dot) * sin) / TOTAL_MASS
    turn = (GRAVITY * sin - cos * push) / (
        HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * np.square(cos) / TOTAL_MASS)
    )
    acceleration = push - POLE_MASS_LENGTH * turn * cos / TOTAL_MASS
    return np.stack(
        [
            x + SECONDS * x_dot,
            x_dot + SECONDS * acceleration,
            theta + SECONDS * theta_dot,
            theta_dot + SECONDS * turn,
        ]
    )
