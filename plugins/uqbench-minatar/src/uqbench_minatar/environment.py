"""The environment ``minatar``, on either backend."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from uqbench.contract.environment import LaneEnv, TimeLimit
from uqbench.contract.side_by_side import SideBySide
from uqbench.lanes.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench_minatar.config import GameConfig


def make(
    config: GameConfig,
    seeds: Sequence[int],
    time_limit: TimeLimit | None,
    device: torch.device,
) -> LaneEnv:
    """MinAtar's five games, all six actions in each.

    Only the chosen backend is imported.

    Source: Young & Tian 2019
    """
    if config.backend == "oracle":
        from uqbench_minatar.oracle import Game

        return GymnasiumLanes(
            lambda: Game(config), seeds, time_limit, device=device, has_state_dict=True
        )
    from uqbench_minatar.lanes import MinAtarLanes

    return MinAtarLanes(config, seeds, time_limit, device)


def side_by_side(
    configs: Sequence[GameConfig],
    seeds: Sequence[Sequence[int]],
    time_limit: TimeLimit | None,
    device: torch.device,
) -> SideBySide:
    """Several games, each in lanes of its own, as one environment with the planes of the most."""
    from uqbench_minatar.side_by_side import GamesSideBySide

    return GamesSideBySide(configs, seeds, time_limit, device)
