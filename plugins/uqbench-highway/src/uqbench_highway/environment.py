"""The environment: a road in every lane, on either backend."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from uqbench.environment import GymnasiumLanes, LaneEnv, TimeLimit
from uqbench_highway.options import HighwayOptions


def make(
    options: HighwayOptions,
    seeds: Sequence[int],
    time_limit: TimeLimit | None,
    device: torch.device,
) -> LaneEnv:
    """Make the lanes; only the backend that is used is imported."""
    if options.backend == "reference":
        from uqbench_highway.reference import Highway

        return GymnasiumLanes(
            lambda: Highway(options), seeds, time_limit, ("crashes",), device=device
        )
    from uqbench_highway.lanes import HighwayLanes

    return HighwayLanes(options, seeds, time_limit, device)
