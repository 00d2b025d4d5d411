"""highway-v0 for lanes: one compiled call steps the roads of a whole batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.environment import Outcome, TimeLimit
from uqbench.lanes.kernels.lanes import KernelLanes
from uqbench_highway import cpu, random
from uqbench_highway.config import FEATURES, N_ACTIONS, HighwayConfig
from uqbench_highway.simulation.cars import N_FIELDS, N_STATUS
from uqbench_highway.stepping import LaneArrays, Parameters


def parameters_of(config: HighwayConfig, time_limit: TimeLimit | None) -> Parameters:
    """The config as the compiled functions take it."""
    low, high = config.reward_speed_range
    return Parameters(
        road_lanes=config.lanes_count,
        crowding=float(np.exp(-5 / 40 * config.lanes_count)),
        initial_road_lane=-1 if config.initial_lane_id is None else config.initial_lane_id,
        ego_spacing=float(config.ego_spacing),
        spacing=1 / config.vehicles_density,
        frames=config.simulation_frequency // config.policy_frequency,
        dt=1 / config.simulation_frequency,
        collision_reward=float(config.collision_reward),
        right_lane_reward=float(config.right_lane_reward),
        high_speed_reward=float(config.high_speed_reward),
        low_speed=float(low),
        high_speed=float(high),
        normalized=config.normalize_reward,
        offroad_terminal=config.offroad_terminal,
        limit=0 if time_limit is None else time_limit.steps,
        truncates=time_limit is not None and time_limit.kind == "truncation",
    )


class HighwayLanes(KernelLanes):
    """One road per lane; lane ``i`` follows the package's environment seeded with ``seeds[i]``.

    On a GPU an invalid action acts as 1.
    """

    state = ("motion", "status", "streams", "length", "obs")
    random_state = ("streams",)

    def __init__(
        self,
        config: HighwayConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        n, cars, device = len(seeds), 1 + config.vehicles_count, device or torch.device("cpu")
        size = FEATURES * config.observed_vehicles

        def zeros(dtype: torch.dtype, *shape: int) -> Tensor:
            return torch.zeros(n, *shape, dtype=dtype, device=device)

        self.n_actions = N_ACTIONS
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self._seeds = list(seeds)
        self.arrays = LaneArrays(
            motion=zeros(torch.float64, N_FIELDS, cars),
            status=zeros(torch.int32, N_STATUS, cars),
            streams=zeros(torch.uint32, random.SIZE),
            length=zeros(torch.int64),
            obs=zeros(torch.float32, size),
            action=zeros(torch.int64),
            reward=zeros(torch.float32),
            terminated=zeros(torch.uint8),
            truncated=zeros(torch.uint8),
            next_obs=zeros(torch.float32, size),
            crashes=zeros(torch.float32),
        )
        self.outcome = Outcome(
            reward=self.arrays.reward,
            terminated=self.arrays.terminated.view(torch.bool),
            truncated=self.arrays.truncated.view(torch.bool),
            next_obs=self.arrays.next_obs,
            obs=self.arrays.obs,
            events={"crashes": self.arrays.crashes},
        )
        self._parameters = parameters_of(config, time_limit)
        if device.type == "cuda":
            from uqbench_highway import cuda

            self.kernels = cuda.kernels(self._parameters, self.arrays)
        else:
            self.kernels = cpu.kernels(self._parameters, self.arrays)

    def reset(self) -> tuple[Tensor, None]:
        """Seed every lane and begin."""
        self.seed(self._seeds)
        return self.begin(), None

    def seed(self, seeds: Sequence[int]) -> None:
        """Restart the random stream of every lane from its seed."""
        streams = np.stack([random.seeded(seed) for seed in seeds])
        self.arrays.streams.copy_(torch.from_numpy(streams))

    def begin(self) -> Tensor:
        """Begin new episodes from the current random streams; returns their observations."""
        self.kernels.begin()
        return self.outcome.obs
