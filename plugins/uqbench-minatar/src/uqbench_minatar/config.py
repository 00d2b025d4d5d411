"""Config of the environment; a module of its own, so that reading a suite imports no game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
"""Modules of ``uqbench_minatar.games``."""
N_ACTIONS = 6


@dataclass(frozen=True, kw_only=True)
class GameConfig:
    """A MinAtar game and how it is played.

    Attributes:
        game: one of ``GAMES``.
        sticky_action_prob: probability that the previous action is repeated instead.
        difficulty_ramping: whether games get harder during an episode.
        backend: ``lanes``, compiled games that step all lanes in one call, or ``oracle``, the
            ``minatar`` package. Both give the same results, bit for bit.
    """

    game: str
    sticky_action_prob: float = 0.1
    difficulty_ramping: bool = True
    backend: Literal["lanes", "oracle"] = "lanes"

    def __post_init__(self) -> None:
        if self.game not in GAMES:
            raise ValueError(f"game must be one of {', '.join(GAMES)}; got {self.game!r}")
        if not 0 <= self.sticky_action_prob <= 1:
            raise ValueError(f"sticky_action_prob must be in [0, 1]; got {self.sticky_action_prob}")


@dataclass(frozen=True, kw_only=True)
class OfflineConfig:
    """Logged play of a game.

    Attributes:
        game: one of those whose policies are valued.
        coverage: who logged: the script with two random actions in nine (``expert``), one of
            the ten, drawn every 50 steps (``mixed``), or uniformly random play (``poor``).
    """

    game: Literal["asterix", "breakout", "freeway", "seaquest", "space_invaders"]
    coverage: Literal["expert", "mixed", "poor"] = "mixed"
