"""The oracle: a game of the ``minatar`` package as a Gymnasium environment.

It wraps the package's game rather than its Gymnasium classes, which reject ``super().reset``
seeding and reduce each game to its own action set; the papers use all six actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import gymnasium
import numpy as np
import torch
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

    def state_dict(self) -> dict[str, Any]:
        """The game's variables, its last action and where its stream of random numbers is."""
        name, key, position, has_gauss, gauss = self._game.random.get_state(legacy=True)
        game = {k: v for k, v in vars(self._game.env).items() if k != "random"}
        return {
            "game": _plain(game),
            "last_action": int(self._game.last_action),
            "random": (name, torch.from_numpy(key.copy()), position, has_gauss, gauss),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._game.seed(0)  # the wrapper and the game share one stream from then on
        name, key, *rest = state["random"]
        self._game.random.set_state((name, key.numpy(), *rest))
        self._game.last_action = state["last_action"]
        vars(self._game.env).update(_as_numpy(state["game"]))

    def _observation(self) -> NDArray[np.bool_]:
        return np.ascontiguousarray(self._game.state().transpose(2, 0, 1), dtype=np.bool_)


def _plain(value: Any) -> Any:
    """A copy with tensors for arrays and Python's numbers for NumPy's."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(item) for item in value)
    return value


def _as_numpy(value: Any) -> Any:
    """A copy with arrays for tensors."""
    if isinstance(value, torch.Tensor):
        return value.numpy().copy()
    if isinstance(value, dict):
        return {key: _as_numpy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_as_numpy(item) for item in value)
    return value
