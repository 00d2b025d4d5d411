"""The oracle: a game of the ``minatar`` package as a Gymnasium environment.

It wraps the package's game rather than its Gymnasium classes, which reject ``super().reset``
seeding and reduce each game to its own action set; the papers use all six actions.
"""

from __future__ import annotations

from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from minatar import Environment
from numpy.typing import NDArray

from uqbench_minatar.config import N_ACTIONS, GameConfig


class Game(gymnasium.Env[Any, Any]):
    """One game with all six actions; observations ``[C, 10, 10]`` bool, channels first."""

    def __init__(self, config: GameConfig) -> None:
        self._game = Environment(
            config.game,
            sticky_action_prob=config.sticky_action_prob,
            difficulty_ramping=config.difficulty_ramping,
        )
        height, width, channels = self._game.state_shape()
        shape = (channels, height, width)
        self.observation_space = spaces.Box(0, 1, shape, cast(Any, np.bool_))  # the stubs lack bool
        self.action_space = spaces.Discrete(N_ACTIONS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.bool_], dict[str, Any]]:
        """Begin an episode; a seed restarts the random stream and clears the last action.

        Without a seed both carry over from the previous episode, as in MinAtar.
        """
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._game.seed(seed)
            self._game.last_action = 0
        self._game.reset()
        return self._observation(), {}

    def step(self, action: int) -> tuple[NDArray[np.bool_], float, bool, bool, dict[str, Any]]:
        """Take one of the six actions."""
        reward, terminated = self._game.act(action)
        return self._observation(), float(reward), bool(terminated), False, {}

    def _observation(self) -> NDArray[np.bool_]:
        return np.ascontiguousarray(self._game.state().transpose(2, 0, 1), dtype=np.bool_)
