"""The environment: a game in every lane, on either backend."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from uqbench.environment import GymnasiumLanes, LaneEnv, TimeLimit
from uqbench_minatar.options import GameOptions


def make(
    options: GameOptions,
    seeds: Sequence[int],
    time_limit: TimeLimit | None,
    device: torch.device,
) -> LaneEnv:
    """Make the lanes; only the backend that is used is imported."""
    if options.backend == "reference":
        from uqbench_minatar.game import Game

        return GymnasiumLanes(lambda: Game(options), seeds, time_limit, device=device)
    from uqbench_minatar.lanes import MinAtarLanes

    return MinAtarLanes(options, seeds, time_limit, device)
