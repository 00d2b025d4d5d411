"""MinAtar for lanes: one compiled call steps the games of a whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.environment import Outcome, TimeLimit
from uqbench.lanes.kernels.lanes import KernelLanes
from uqbench_minatar import cpu, random
from uqbench_minatar.config import N_ACTIONS, GameConfig
from uqbench_minatar.games.board import WIDTH
from uqbench_minatar.stepping import LaneArrays, Parameters


class Exchanged(NamedTuple):
    """Arrays that lanes and those who step them exchange; the first axis is the lanes."""

    action: Tensor  # [L] int64
    reward: Tensor  # [L] float32
    terminated: Tensor  # [L] uint8
    truncated: Tensor  # [L] uint8
    obs: Tensor  # [L, C * 100] uint8
    next_obs: Tensor  # [L, C * 100] uint8

    @classmethod
    def zeros(cls, lanes: int, planes: int, device: torch.device) -> Exchanged:
        """Arrays for observations of so many planes."""
        kinds = torch.int64, torch.float32, torch.uint8, torch.uint8
        obs = torch.zeros(2, lanes, planes * WIDTH * WIDTH, dtype=torch.uint8, device=device)
        return cls(*(torch.zeros(lanes, dtype=kind, device=device) for kind in kinds), *obs)

    def outcome(self, planes: int) -> Outcome:
        """Views of the arrays, with the first planes of observations."""
        obs, next_obs = (
            cells.view(torch.bool).view(len(cells), -1, WIDTH, WIDTH)[:, :planes]
            for cells in (self.obs, self.next_obs)
        )
        terminated, truncated = (end.view(torch.bool) for end in (self.terminated, self.truncated))
        return Outcome(self.reward, terminated, truncated, next_obs, obs)


def game_of(config: GameConfig) -> Any:
    """The module of a game."""
    return import_module(f"uqbench_minatar.games.{config.game}")


def space_of(planes: int) -> spaces.Box:
    """The space of observations of so many planes."""
    return spaces.Box(0, 1, (planes, WIDTH, WIDTH), cast(Any, np.bool_))  # the stubs lack bool


class MinAtarLanes(KernelLanes):
    """The same game in every lane; lane ``i`` equals the package's game seeded with ``seeds[i]``.

    On a GPU an invalid action acts as 0.
    """

    state = ("states", "streams", "last_action", "length", "obs")
    random_state = ("streams",)

    def __init__(
        self,
        config: GameConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
        exchanged: Exchanged | None = None,
    ) -> None:
        self._game = game = game_of(config)
        n, cells, device = len(seeds), game.CHANNELS * WIDTH * WIDTH, device or torch.device("cpu")
        shared = exchanged or Exchanged.zeros(n, game.CHANNELS, device)

        def zeros(dtype: torch.dtype, *shape: int) -> Tensor:
            return torch.zeros(n, *shape, dtype=dtype, device=device)

        self.n_actions = N_ACTIONS
        self.observation_space = space_of(game.CHANNELS)
        self._seeds = list(seeds)
        self.arrays = LaneArrays(
            states=zeros(torch.int32, game.SIZE),
            streams=zeros(torch.uint32, random.SIZE),
            last_action=zeros(torch.int64),
            length=zeros(torch.int64),
            obs=shared.obs[:, :cells],
            action=shared.action,
            reward=shared.reward,
            terminated=shared.terminated,
            truncated=shared.truncated,
            next_obs=shared.next_obs[:, :cells],
        )
        self.outcome = shared.outcome(game.CHANNELS)
        self._parameters = Parameters(
            sticky_action_prob=float(config.sticky_action_prob),
            difficulty_ramping=config.difficulty_ramping,
            limit=0 if time_limit is None else time_limit.steps,
            truncates=time_limit is not None and time_limit.kind == "truncation",
        )
        if device.type == "cuda":
            from uqbench_minatar import cuda

            self.kernels = cuda.kernels(game, self._parameters, self.arrays)
        else:
            self.kernels = cpu.kernels(game, self._parameters, self.arrays)

    def reset(self) -> tuple[Tensor, None]:
        """Seed every lane, clear the last actions and begin."""
        streams = np.stack([random.seeded(seed) for seed in self._seeds])
        self.arrays.streams.copy_(torch.from_numpy(streams))
        self.arrays.last_action.zero_()
        self.kernels.begin()
        return self.outcome.obs, None
