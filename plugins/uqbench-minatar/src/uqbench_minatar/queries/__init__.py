"""Where agents are asked how uncertain they are: 256 states of each game.

They lie on 32 trajectories of 150 steps, eight on each, of policies of three strengths. The files
next to this module hold seeds and actions; ``python -m uqbench_minatar.tools.query_states`` made
them. Their climatology is that of γ = 0.99, half of random play and half of the game's script
(``benchmarks/climatology.py minatar paper script --states 32``). A trajectory plays with sticky
actions and ramping difficulty, whatever a task's config.
"""

from __future__ import annotations

from importlib.resources import files

import torch
from torch import Tensor

from uqbench.contract.queries import QueryStates, read_trajectories
from uqbench_minatar.config import GameConfig


def query_states(config: GameConfig) -> QueryStates:
    """The states of a game."""
    file = files("uqbench_minatar") / "queries" / f"{config.game}.json"
    return read_trajectories(file, permuted)


def permuted(obs: Tensor) -> Tensor:
    """Frames ``[*, C, 10, 10]`` bool whose objects are others: the channels are rotated.

    No game reaches them: the first channel is the player, paddle or cannon, one cell in every
    frame, and gets the next channel that has none, or more. As many pixels are active as before.
    """
    counts = obs.flatten(-2).sum(-1)
    channels = counts.shape[-1]
    shift = (counts != 1).to(torch.uint8).argmax(-1, keepdim=True)  # the first such channel
    order = (torch.arange(channels, device=obs.device) + shift) % channels
    return obs.gather(-3, order[..., None, None].expand_as(obs))
