"""An Atari game with the preprocessing of Mnih et al. 2015."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import ale_py
import gymnasium
import torch
from ale_py.env import AtariEnv
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from uqbench.contract.errors import UqbenchError
from uqbench_atari.config import AtariConfig


class Console(AtariEnv):
    """The emulator, one frame per step.

    Raises:
        UqbenchError: the game's ROM is missing, or is not the one that ale-py expects.
    """

    def __init__(self, game: str, sticky_action_prob: float) -> None:
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        try:
            super().__init__(
                game=game,
                obs_type="grayscale",
                frameskip=1,
                repeat_action_probability=sticky_action_prob,
                full_action_space=False,
            )
        except OSError as error:
            raise UqbenchError(
                f"the ROM of {game!r} cannot be used: {error}; ale-py's wheels carry the ROMs: "
                f"reinstall it, and unset ALE_ROMS_DIR unless that folder has them all"
            ) from error


class Game(FrameStackObservation[Any, Any, Any]):
    """The last images, stacked; saved with the preprocessing and the emulator that it wraps."""

    env: AtariPreprocessing

    def state_dict(self) -> dict[str, Any]:
        """The emulator's state, both random streams, and the images kept."""
        console = cast(Console, self.unwrapped)
        return {
            "frames": [torch.from_numpy(frame.copy()) for frame in self.obs_queue],
            "screens": [torch.from_numpy(screen.copy()) for screen in self.env.obs_buffer],
            "lives": int(self.env.lives),
            "game_over": bool(self.env.game_over),
            "ale": console.ale.cloneState(include_rng=True).__getstate__(),
            "np_random": console.np_random.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        console = cast(Console, self.unwrapped)
        emulator = ale_py.ALEState.__new__(ale_py.ALEState)
        emulator.__setstate__(state["ale"])
        console.ale.restoreState(emulator)
        console.np_random.bit_generator.state = state["np_random"]
        self.env.lives, self.env.game_over = state["lives"], state["game_over"]
        self.env.obs_buffer = [screen.numpy().copy() for screen in state["screens"]]
        self.obs_queue.extend(frame.numpy().copy() for frame in state["frames"])


def make(config: AtariConfig) -> gymnasium.Env[Any, Any]:
    """The 57 Atari games, preprocessed as in Mnih et al. 2015.

    Observations are the last gray images of 84 × 84, stacked: ``[frames, 84, 84]`` bytes.

    Source: Bellemare et al. 2012; Mnih et al. 2015

    Raises:
        UqbenchError: the game's ROM is missing.
        gymnasium.error.DependencyNotInstalled: OpenCV, which resizes the images, is missing.
    """
    console = Console(config.game, config.sticky_action_prob)
    preprocessed = AtariPreprocessing(
        console,
        noop_max=config.no_op_max,
        frame_skip=config.frame_skip,
        screen_size=84,
        terminal_on_life_loss=config.terminal_on_life_loss,
        grayscale_obs=True,
    )
    return Game(preprocessed, config.frames)
