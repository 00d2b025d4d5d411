"""Config of the Atari games."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from uqbench_atari.normalization import RANDOM_AND_HUMAN


@dataclass(frozen=True, kw_only=True)
class AtariConfig:
    """Which game, and how it is preprocessed; the defaults are those of Mnih et al. 2015.

    Attributes:
        game: one of the 57, as spelled in ``RANDOM_AND_HUMAN``.
        frame_skip: frames per step; the action is repeated, and the last two frames are maxed.
        frames: how many of the last images make an observation.
        no_op_max: an episode starts with up to this many actions that do nothing.
        sticky_action_prob: probability, per frame, that the console repeats the previous action.
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
