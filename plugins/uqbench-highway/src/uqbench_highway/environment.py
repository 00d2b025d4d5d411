"""The environment ``highway``, on either backend."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from uqbench.contract.environment import LaneEnv, TimeLimit
from uqbench.lanes.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench_highway.config import HighwayConfig


def make(
    config: HighwayConfig,
    seeds: Sequence[int],
    time_limit: TimeLimit | None,
    device: torch.device,
) -> LaneEnv:
    """highway-v0 of highway-env; events: crashes.

    Only the chosen backend is imported.

    Source: Leurent 2018, highway-env 1.12.1
    """
    if config.backend == "oracle":
        from uqbench_highway.oracle import Highway

        return GymnasiumLanes(
            lambda: Highway(config), seeds, time_limit, ("crashes",), device=device
        )
    from uqbench_highway.lanes import HighwayLanes

    return HighwayLanes(config, seeds, time_limit, device)
