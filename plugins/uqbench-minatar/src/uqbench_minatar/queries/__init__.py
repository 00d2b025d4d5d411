"""Where agents are asked how uncertain they are: 256 states of each game.

They lie on 32 trajectories of 150 steps, eight on each, of policies of three strengths. The files
next to this module hold seeds and actions; ``python -m uqbench_minatar.tools.query_states`` made
them. A trajectory plays with sticky actions and ramping difficulty, whatever a task's config.
"""

from __future__ import annotations

from importlib.resources import files

from torch import Tensor

from uqbench.queries import QueryStates, read_trajectories
from uqbench_minatar.config import GameConfig


def query_states(config: GameConfig) -> QueryStates:
    """The states of a game."""
    file = files("uqbench_minatar") / "queries" / f"{config.game}.json"
    return read_trajectories(file, doubled)


def doubled(obs: Tensor) -> Tensor:
    """Frames ``[*, C, 10, 10]`` bool with themselves on top, turned by 180°.

    No game reaches them: the first channel is the player, paddle or cannon, one cell in every
    frame, and here two.
    """
    return obs | obs.flip((-2, -1))
