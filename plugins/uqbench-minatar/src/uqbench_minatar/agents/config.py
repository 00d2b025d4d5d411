"""Configs of the agents."""

from __future__ import annotations

from dataclasses import dataclass

SCRIPTED = ("breakout", "freeway", "space_invaders")


@dataclass(frozen=True, kw_only=True)
class ScriptConfig:
    """Which game's script is played; Asterix and Seaquest have none."""

    game: str

    def __post_init__(self) -> None:
        if self.game not in SCRIPTED:
            raise ValueError(f"game must be one of {', '.join(SCRIPTED)}; got {self.game!r}")
