"""A MinAtar game as a Gymnasium environment, on the ``minatar`` package.

Made directly on the package's game rather than on its own Gymnasium classes: those reject
``super().reset`` seeding and take the action set of the game; the papers use all six actions.
"""

from __future__ import annotations

from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from minatar import Environment
from numpy.typing import NDArray

from uqbench_minatar.options import N_ACTIONS, GameOptions


class Game(gymnasium.Env[Any, Any]):
    """One game with all six actions; observations ``[C, 10, 10]`` bool, channels first."""

    def __init__(self, options: GameOptions) -> None:
        self._game = Environment(
            options.game,
            sticky_action_prob=options.sticky_action_prob,
            difficulty_ramping=options.difficulty_ramping,
        )
        height, width, channels = self._game.state_shape()
        shape = (channels, height, width)
        self.observation_space = spaces.Box(0, 1, shape, cast(Any, np.bool_))  # typed without bool
        self.action_space = spaces.Discrete(N_ACTIONS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.bool_], dict[str, Any]]:
        """Begin an episode; a seed restarts the game's random stream and forgets sticky actions.

        Unseeded, the stream and the last action go on from the episode before, as in MinAtar.
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
