"""MinAtar for lanes: one compiled call steps the games of a whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

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
    ) -> None:
        self._game = game = import_module(f"uqbench_minatar.games.{config.game}")
        n, cells, device = len(seeds), game.CHANNELS * WIDTH * WIDTH, device or torch.device("cpu")

        def zeros(dtype: torch.dtype, *shape: int) -> Tensor:
            return torch.zeros(n, *shape, dtype=dtype, device=device)

        self.n_actions = N_ACTIONS
        shape = (game.CHANNELS, WIDTH, WIDTH)
        self.observation_space = spaces.Box(0, 1, shape, cast(Any, np.bool_))  # the stubs lack bool
        self._seeds = list(seeds)
        self.arrays = LaneArrays(
            states=zeros(torch.int32, game.SIZE),
            streams=zeros(torch.uint32, random.SIZE),
            last_action=zeros(torch.int64),
            length=zeros(torch.int64),
            obs=zeros(torch.uint8, cells),
            action=zeros(torch.int64),
            reward=zeros(torch.float32),
            terminated=zeros(torch.uint8),
            truncated=zeros(torch.uint8),
            next_obs=zeros(torch.uint8, cells),
        )
        self.outcome = Outcome(
            reward=self.arrays.reward,
            terminated=self.arrays.terminated.view(torch.bool),
            truncated=self.arrays.truncated.view(torch.bool),
            next_obs=self.arrays.next_obs.view(torch.bool).view(n, *shape),
            obs=self.arrays.obs.view(torch.bool).view(n, *shape),
        )
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
