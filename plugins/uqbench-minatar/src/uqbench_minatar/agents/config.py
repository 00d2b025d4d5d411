"""Configs of the agents."""

from __future__ import annotations

from dataclasses import dataclass

from uqbench_minatar.config import GAMES


@dataclass(frozen=True, kw_only=True)
class ScriptConfig:
    """Which game's script is played."""

    game: str

    def __post_init__(self) -> None:
        if self.game not in GAMES:
            raise ValueError(f"game must be one of {', '.join(GAMES)}; got {self.game!r}")
