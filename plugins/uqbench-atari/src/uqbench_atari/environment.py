"""An Atari game with the preprocessing of Mnih et al. 2015."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import ale_py
import gymnasium
import torch
from ale_py.env import AtariEnv
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from uqbench.errors import UqbenchError
from uqbench_atari.reference import RANDOM_AND_HUMAN


@dataclass(frozen=True, kw_only=True)
class AtariOptions:
    """Which game, and how it is seen; the defaults are those of Mnih et al. 2015.

    Attributes:
        game: one of the 57, as ``RANDOM_AND_HUMAN`` spells them.
        frame_skip: frames of a step; the action is repeated, the last two are maximised.
        frames: the last ones, stacked, that are an observation.
        no_op_max: an episode begins with up to so many actions that do nothing.
        sticky_action_prob: probability that the console repeats the action before, each frame.
        terminal_on_life_loss: whether a lost life ends the episode.
    """

    game: str
    frame_skip: int = 4
    frames: int = 4
    no_op_max: int = 30
    sticky_action_prob: float = 0.0
    terminal_on_life_loss: bool = False

    def __post_init__(self) -> None:
        if self.game not in RANDOM_AND_HUMAN:
            near = difflib.get_close_matches(self.game, RANDOM_AND_HUMAN, n=3)
            raise ValueError(
                f"there is no game {self.game!r} among the 57; nearest: {', '.join(near) or 'none'}"
            )
        if min(self.frame_skip, self.frames) < 1 or self.no_op_max < 0:
            raise ValueError(
                f"expected frame_skip and frames of at least 1 and no_op_max of at least 0, got "
                f"{self.frame_skip}, {self.frames} and {self.no_op_max}"
            )


class Console(AtariEnv):
    """The emulator, one frame a step.

    Raises:
        UqbenchError: the game's ROM is missing or not the one that ale-py expects.
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
                f"install it again, and unset ALE_ROMS_DIR unless that folder has them all"
            ) from error


class Game(FrameStackObservation[Any, Any, Any]):
    """The last images, stacked; saved with the preprocessing and the emulator that it wraps."""

    env: AtariPreprocessing

    def state_dict(self) -> dict[str, Any]:
        """Where the emulator and both streams of random numbers are, and the images kept."""
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
        """Take over what ``state_dict`` returned."""
        console = cast(Console, self.unwrapped)
        emulator = ale_py.ALEState.__new__(ale_py.ALEState)
        emulator.__setstate__(state["ale"])
        console.ale.restoreState(emulator)
        console.np_random.bit_generator.state = state["np_random"]
        self.env.lives, self.env.game_over = state["lives"], state["game_over"]
        self.env.obs_buffer = [screen.numpy().copy() for screen in state["screens"]]
        self.obs_queue.extend(frame.numpy().copy() for frame in state["frames"])


def make(options: AtariOptions) -> gymnasium.Env[Any, Any]:
    """The game: grey images of 84 × 84, the last ones stacked, ``[frames, 84, 84]`` bytes.

    Raises:
        UqbenchError: the game's ROM is missing.
        gymnasium.error.DependencyNotInstalled: OpenCV is missing, which shrinks the images.
    """
    console = Console(options.game, options.sticky_action_prob)
    seen = AtariPreprocessing(
        console,
        noop_max=options.no_op_max,
        frame_skip=options.frame_skip,
        screen_size=84,
        terminal_on_life_loss=options.terminal_on_life_loss,
        grayscale_obs=True,
    )
    return Game(seen, options.frames)
