"""Options of a game; apart from the game, so that reading a suite does not import MinAtar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
N_ACTIONS = 6


@dataclass(frozen=True, kw_only=True)
class GameOptions:
    """Options of a game (Young & Tian 2019, "MinAtar").

    Attributes:
        game: one of the five.
        sticky_action_prob: probability that the last action is repeated instead of the chosen one.
        difficulty_ramping: whether games grow harder as an episode goes on.
        backend: what plays them: compiled games that step all lanes in one call, or those of the
            ``minatar`` package. Both give the same, bit for bit.
    """

    game: str
    sticky_action_prob: float = 0.1
    difficulty_ramping: bool = True
    backend: Literal["lanes", "reference"] = "lanes"

    def __post_init__(self) -> None:
        if self.game not in GAMES:
            raise ValueError(f"game must be one of {', '.join(GAMES)}; got {self.game!r}")
        if not 0 <= self.sticky_action_prob <= 1:
            raise ValueError(f"sticky_action_prob is a probability; got {self.sticky_action_prob}")
