"""A few lines per game, as functions of the observation ``[..., C, 10, 10]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, observation_shape
from uqbench.contract.errors import UqbenchError
from uqbench.registry.builtin.trivial import FixedPolicy
from uqbench_minatar.agents.config import ScriptConfig
from uqbench_minatar.agents.seeking import NOTHING, place, safe_step
from uqbench_minatar.games import asterix, breakout, freeway, space_invaders
from uqbench_minatar.games.board import FIRE, LAST, LEFT, RIGHT, UP, WIDTH
from uqbench_minatar.games.seaquest import state as seaquest

CLOSE_BULLETS = slice(5, LAST)  # rows from which a bullet arrives within a few steps
LOW_ALIENS = slice(LAST - 1, None)
LITTLE_AIR = 3  # of ten cells of the gauge


def toward(x: Tensor, goal: Tensor) -> Tensor:
    """The action that moves a player in column ``x`` toward column ``goal``."""
    return torch.where(goal < x, LEFT, torch.where(goal > x, RIGHT, NOTHING))


def column(plane: Tensor) -> Tensor:
    """The first column of ``[..., 10, 10]`` with a cell set."""
    return plane.any(-2).to(torch.uint8).argmax(-1)


def play_breakout(obs: Tensor) -> Tensor:
    """Follow the ball."""
    return toward(column(obs[..., breakout.PADDLE, :, :]), column(obs[..., breakout.BALL, :, :]))


def play_freeway(obs: Tensor) -> Tensor:
    """Always up."""
    return torch.full(obs.shape[:-3], UP, device=obs.device)


def play_space_invaders(obs: Tensor) -> Tensor:
    """Dodge bullets that are close; else shoot below aliens; else go to the nearest ones."""
    aliens = obs[..., space_invaders.ALIEN, :, :]
    bullets = obs[..., space_invaders.ENEMY_BULLET, :, :]
    danger = bullets[..., CLOSE_BULLETS, :].any(-2) | aliens[..., LOW_ALIENS, :].any(-2)
    x = column(obs[..., space_invaders.CANNON, :, :])
    left_free = ~_at(danger, x - 1) & (x > 0)
    dodge = torch.where(left_free, LEFT, RIGHT)
    occupied = aliens.any(-2)
    distance = (torch.arange(WIDTH, device=obs.device) - x[..., None]).abs()
    goal = torch.where(occupied, distance, WIDTH).argmin(-1)
    move = toward(x, goal)
    step = (goal - x).sign()
    attack = torch.where(_at(occupied, x), FIRE, torch.where(_at(danger, x + step), NOTHING, move))
    return torch.where(_at(danger, x), dodge, attack)


def play_asterix(obs: Tensor) -> Tensor:
    """To the nearest gold, away from enemies."""
    x, y = place(obs[..., asterix.PLAYER, :, :])
    enemies, gold = obs[..., asterix.ENEMY, :, :], obs[..., asterix.GOLD, :, :]
    return safe_step(x, y, gold, enemies, 1, asterix.SLOTS)


def play_seaquest(obs: Tensor) -> Tensor:
    """Shoot enemies in sight; else to divers, or with all aboard or little air to the surface."""
    x, y = place(obs[..., seaquest.FRONT, :, :])
    behind, _ = place(obs[..., seaquest.BACK, :, :])
    enemies = obs[..., seaquest.ENEMY_FISH, :, :] | obs[..., seaquest.ENEMY_SUBMARINE, :, :]
    danger = enemies | obs[..., seaquest.ENEMY_BULLET, :, :]
    air = obs[..., seaquest.OXYGEN_GAUGE, LAST, :].sum(-1)
    aboard = obs[..., seaquest.DIVER_GAUGE, LAST, :].sum(-1)
    rises = (aboard == seaquest.MOST_DIVERS) | ((air <= LITTLE_AIR) & (aboard > 0))
    surface = torch.zeros_like(danger)
    surface[..., 0, :] = True
    divers = obs[..., seaquest.DIVER, :, :]
    prey = torch.where(divers.flatten(-2).any(-1)[..., None, None], divers, enemies)
    goals = torch.where(rises[..., None, None], surface, prey)
    row = enemies.gather(-2, y[..., None, None].expand(*y.shape, 1, WIDTH)).squeeze(-2)
    columns = torch.arange(WIDTH, device=obs.device)
    ahead = (columns - x[..., None]).sign() == (x - behind).sign()[..., None]
    sees = (row & ahead).any(-1) & ~rises
    return torch.where(sees, FIRE, safe_step(x, y, goals, danger, 0, LAST - 1))


def _at(columns: Tensor, x: Tensor) -> Tensor:
    """The entry of ``[..., 10]`` in column ``x``, clipped to the board."""
    return columns.gather(-1, x.clamp(0, LAST)[..., None]).squeeze(-1)


SCRIPTS: dict[str, tuple[int, Callable[[Tensor], Tensor]]] = {
    "asterix": (asterix.CHANNELS, play_asterix),
    "breakout": (breakout.CHANNELS, play_breakout),
    "freeway": (freeway.CHANNELS, play_freeway),
    "seaquest": (seaquest.CHANNELS, play_seaquest),
    "space_invaders": (space_invaders.CHANNELS, play_space_invaders),
}


class Script(FixedPolicy):
    """A simple script per game: follow the ball, always up, shoot and dodge, collect and flee.

    Raises:
        UqbenchError: observations are not those of the game.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: ScriptConfig,
        device: torch.device,
    ) -> None:
        self.config = config
        channels, _ = SCRIPTS[config.game]
        expected, shape = (channels, WIDTH, WIDTH), observation_shape(info)
        if shape != expected:
            raise UqbenchError(f"expected observations {expected} of {config.game}; got {shape}")

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The script's actions ``[L, M]`` for ``obs`` ``[L, M, C, 10, 10]``."""
        _, script = SCRIPTS[self.config.game]
        return script(obs.bool())
