"""Brake and keep right."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo
from uqbench.registry.builtin.trivial import FixedPolicy
from uqbench_highway.agents.config import KeepRightConfig
from uqbench_highway.agents.road import ROAD, expect_kinematics
from uqbench_highway.config import FEATURES
from uqbench_highway.simulation.cars import ROAD_LANE_WIDTH
from uqbench_highway.simulation.control import LANE_RIGHT, SLOWER
from uqbench_highway.simulation.observation import FASTEST as SPEED_SCALE

SETTLED = 0.5  # m from the center of a road lane
SLOW = 22.5  # m/s, halfway between the two lowest target speeds


class KeepRight(FixedPolicy):
    """Brake, then SLOWER and LANE_RIGHT in turn.

    A function of the observation: right if slow and in the middle of a road lane that is not the
    last, else SLOWER. A change takes two steps, so the two actions alternate.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: KeepRightConfig,
        device: torch.device,
    ) -> None:
        expect_kinematics(info)

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """LANE_RIGHT or SLOWER, ``[L, M]``, for ``obs`` ``[L, M, observed · 5]``."""
        own = obs[..., :FEATURES].double()
        y = own[..., 2] * ROAD_LANE_WIDTH * ROAD.lanes_count
        slow = own[..., 3] * SPEED_SCALE < SLOW
        road_lane = (y / ROAD_LANE_WIDTH).round()
        settled = (y - road_lane * ROAD_LANE_WIDTH).abs() < SETTLED
        change = slow & settled & (road_lane < ROAD.lanes_count - 1)
        return torch.where(change, LANE_RIGHT, SLOWER)
