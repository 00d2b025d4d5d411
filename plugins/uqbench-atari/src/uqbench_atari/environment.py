"""An Atari game with the preprocessing of Mnih et al. 2015."""

from __future__ import annotations

from typing import Any

import ale_py
import gymnasium
from ale_py.env import AtariEnv
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from uqbench.errors import UqbenchError
from uqbench_atari.config import AtariConfig


class Console(AtariEnv):
    """The emulator, one frame per step, pickled with its whole state.

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
        self._made_with = (game, sticky_action_prob)

    def __getstate__(self) -> dict[str, Any]:
        """The constructor's arguments, the emulator's state and both random streams."""
        return {
            "made_with": self._made_with,
            "ale": self.ale.cloneState(include_rng=True),
            "np_random": self.np_random,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make another emulator and restore its state."""
        self.__init__(*state["made_with"])  # type: ignore[misc]
        self.ale.restoreState(state["ale"])
        self.np_random = state["np_random"]


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
    return FrameStackObservation(preprocessed, config.frames)
