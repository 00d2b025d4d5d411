"""highway-v0 for lanes: all environments of a batch step in one compiled call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.environment import Outcome, TimeLimit
from uqbench.kernels.lanes import KernelLanes
from uqbench_highway import cpu, random
from uqbench_highway.options import FEATURES, N_ACTIONS, HighwayOptions
from uqbench_highway.simulation.cars import N_FIELDS, N_MARKS
from uqbench_highway.stepping import Lanes, Settings


def settings_of(options: HighwayOptions, time_limit: TimeLimit | None) -> Settings:
    """What the compiled functions take of the options."""
    low, high = options.reward_speed_range
    return Settings(
        road_lanes=options.lanes_count,
        crowding=float(np.exp(-5 / 40 * options.lanes_count)),
        initial_lane=-1 if options.initial_lane_id is None else options.initial_lane_id,
        ego_spacing=float(options.ego_spacing),
        spacing=1 / options.vehicles_density,
        frames=options.simulation_frequency // options.policy_frequency,
        dt=1 / options.simulation_frequency,
        for_collision=float(options.collision_reward),
        for_right_lane=float(options.right_lane_reward),
        for_high_speed=float(options.high_speed_reward),
        low_speed=float(low),
        high_speed=float(high),
        normalized=options.normalize_reward,
        offroad_terminal=options.offroad_terminal,
        limit=0 if time_limit is None else time_limit.steps,
        truncates=time_limit is not None and time_limit.kind == "truncation",
    )


class HighwayLanes(KernelLanes):
    """One road in every lane, lane ``i`` as the package's environment seeded with ``seeds[i]``.

    On a GPU an invalid action is like 1.
    """

    state = ("motion", "marks", "streams", "length", "obs")

    def __init__(
        self,
        options: HighwayOptions,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        n, cars, device = len(seeds), 1 + options.vehicles_count, device or torch.device("cpu")
        size = FEATURES * options.observed_vehicles

        def zeros(dtype: torch.dtype, *shape: int) -> Tensor:
            return torch.zeros(n, *shape, dtype=dtype, device=device)

        self.n_actions = N_ACTIONS
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self._seeds = list(seeds)
        self.arrays = Lanes(
            motion=zeros(torch.float64, N_FIELDS, cars),
            marks=zeros(torch.int32, N_MARKS, cars),
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
        self._settings = settings_of(options, time_limit)
        if device.type == "cuda":
            from uqbench_highway import cuda

            self.program = cuda.program(self._settings, self.arrays)
        else:
            self.program = cpu.program(self._settings, self.arrays)

    def reset(self) -> tuple[Tensor, None]:
        """Seed every lane, and begin."""
        self.seed(self._seeds)
        return self.begin(), None

    def seed(self, seeds: Sequence[int]) -> None:
        """Give every lane the random numbers of its seed, for the episodes to come."""
        streams = np.stack([random.seeded(seed) for seed in seeds])
        self.arrays.streams.copy_(torch.from_numpy(streams))

    def begin(self) -> Tensor:
        """Begin new episodes with the random numbers that come next; what is seen."""
        self.program.begin()
        return self.outcome.obs
