"""MinAtar for lanes: all games of a batch step in one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.environment import LaneEnv, Outcome, TimeLimit
from uqbench_minatar import cpu, random
from uqbench_minatar.games.board import WIDTH
from uqbench_minatar.options import GAMES, N_ACTIONS, GameOptions
from uqbench_minatar.stepping import MODULES, Lanes, Settings

STATE = ("states", "streams", "last_action", "length", "obs")  # of Lanes: what a step goes on from


class MinAtarLanes(LaneEnv):
    """One game in every lane, lane ``i`` equal to the package's game seeded with ``seeds[i]``.

    ``step`` and ``reset`` write to buffers, which their results share: they are overwritten by the
    next call. On a GPU a step is a copy of the actions and the launch of one kernel on PyTorch's
    current stream, without a synchronisation, so that it can be part of a CUDA graph; an invalid
    action does nothing there, like 0.
    """

    capturable = True

    def __init__(
        self,
        options: GameOptions,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        number = GAMES.index(options.game)
        game = MODULES[number]
        n, cells, device = len(seeds), game.CHANNELS * WIDTH * WIDTH, device or torch.device("cpu")

        def zeros(dtype: torch.dtype, *shape: int) -> Tensor:
            return torch.zeros(n, *shape, dtype=dtype, device=device)

        self.n_actions = N_ACTIONS
        shape = (game.CHANNELS, WIDTH, WIDTH)
        self.observation_space = spaces.Box(0, 1, shape, cast(Any, np.bool_))  # typed without bool
        self._seeds = list(seeds)
        self._lanes = Lanes(
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
        self._outcome = Outcome(
            reward=self._lanes.reward,
            terminated=self._lanes.terminated.view(torch.bool),
            truncated=self._lanes.truncated.view(torch.bool),
            next_obs=self._lanes.next_obs.view(torch.bool).view(n, *shape),
            obs=self._lanes.obs.view(torch.bool).view(n, *shape),
        )
        self._settings = Settings(
            game=number,
            sticky_action_prob=float(options.sticky_action_prob),
            difficulty_ramping=options.difficulty_ramping,
            limit=0 if time_limit is None else time_limit.steps,
            truncates=time_limit is not None and time_limit.kind == "truncation",
        )
        self._program: Any
        if device.type == "cuda":
            from uqbench_minatar import cuda

            self._program = cuda.Program(self._settings, self._lanes)
        else:
            self._program = cpu.Program(self._settings, self._lanes)

    def reset(self) -> tuple[Tensor, None]:
        """Seed every lane, forget the last actions, and begin."""
        streams = np.stack([random.seeded(seed) for seed in self._seeds])
        self._lanes.streams.copy_(torch.from_numpy(streams))
        self._lanes.last_action.zero_()
        self._program.begin()
        return self._outcome.obs, None

    def step(self, action: Tensor) -> Outcome:
        """Take one action in every lane; the outcome holds until the next call."""
        self._lanes.action.copy_(action)
        self._program.step()
        return self._outcome

    def state_dict(self) -> dict[str, Any]:
        """All that the next steps depend on, and the current observations; copies."""
        return {name: getattr(self._lanes, name).clone() for name in STATE}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``state_dict`` gave."""
        for name in STATE:
            getattr(self._lanes, name).copy_(state[name])
