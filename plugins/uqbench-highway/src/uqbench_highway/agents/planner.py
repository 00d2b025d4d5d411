"""Look-ahead in the simulation, from what is observed.

The planner has no access to the environment's state. It reconstructs the cars from the observation,
tries every sequence of meta-actions in the plugin's own simulation, and takes the first action of
the best one. After each sequence it brakes for ``BRAKING`` steps: a plan is worth nothing if it
ends in an unavoidable crash. What an observation lacks is assumed:

| unknown | assumed |
| --- | --- |
| cars that are not among the observed ones | none |
| position along the road | far from both ends |
| target road lane of a car | the one that its lateral velocity steers to |
| target speed of the controlled car | the nearest of its three |
| target speed of another car | its speed |
| δ of another driver, time since it last considered a lane change | 4; none |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo
from uqbench.lanes.kernels import compiled
from uqbench.lanes.kernels.cpu import compiled_once
from uqbench.registry.builtin.trivial import FixedPolicy
from uqbench_highway.agents.config import PlannerConfig
from uqbench_highway.agents.road import ROAD, expect_kinematics
from uqbench_highway.arrays import Motion, Obs, Status
from uqbench_highway.config import FEATURES, N_ACTIONS
from uqbench_highway.lanes import parameters_of
from uqbench_highway.simulation.cars import (
    CRASHED,
    EGO,
    EXPONENT,
    HEADING,
    N_FIELDS,
    N_STATUS,
    ROAD_LANE_WIDTH,
    ROAD_LENGTH,
    SPEED,
    TARGET_ROAD_LANE,
    TARGET_SPEED,
    X,
    Y,
    closest_road_lane,
    update_pose,
)
from uqbench_highway.simulation.control import FASTEST, LATERAL_GAIN, SLOWER, SLOWEST, SPEEDS
from uqbench_highway.simulation.observation import FASTEST as SPEED_SCALE
from uqbench_highway.simulation.observation import SIGHT
from uqbench_highway.simulation.reward import reward
from uqbench_highway.stepping import Parameters, simulate

START = ROAD_LENGTH / 2
TYPICAL_EXPONENT = 4.0  # the middle of the range that is drawn
BRAKING = 1  # steps that a plan must survive after its last action
CRASH = 1_000.0  # any plan without a crash beats any with one


@compiled
def reconstruct(obs: Obs, road_lanes: int, motion: Motion, status: Status) -> int:
    """Write the cars of an observation to ``motion`` and ``status``; returns how many there are."""
    motion[:] = 0
    status[:] = 0
    cars = 0
    for row in range(len(obs) // FEATURES):
        first = row * FEATURES
        if obs[first] < 0.5:
            continue
        x = SIGHT * obs[first + 1]
        y = ROAD_LANE_WIDTH * road_lanes * obs[first + 2]
        vx, vy = SPEED_SCALE * obs[first + 3], SPEED_SCALE * obs[first + 4]
        if row == EGO:
            x = START
        else:  # the others are relative
            x += START
            y += motion[Y, EGO]
            vx += motion[SPEED, EGO] * math.cos(motion[HEADING, EGO])
            vy += motion[SPEED, EGO] * math.sin(motion[HEADING, EGO])
        speed = math.sqrt(vx * vx + vy * vy)
        motion[X, cars], motion[Y, cars] = x, y
        motion[HEADING, cars] = math.atan2(vy, vx)
        motion[SPEED, cars] = motion[TARGET_SPEED, cars] = speed
        motion[EXPONENT, cars] = TYPICAL_EXPONENT
        update_pose(motion, status, cars, road_lanes)
        aim = y + vy / LATERAL_GAIN  # drivers steer by vy = gain · offset
        status[TARGET_ROAD_LANE, cars] = closest_road_lane(x, aim, 0.0, road_lanes)
        cars += 1
    step = (FASTEST - SLOWEST) / (SPEEDS - 1)
    level = min(max(round((motion[SPEED, EGO] - SLOWEST) / step), 0), SPEEDS - 1)
    motion[TARGET_SPEED, EGO] = SLOWEST + level * step
    return cars


@compiled_once("uqbench_highway", allocates=True)
def _plan(
    parameters: Any,
    obs: NDArray[np.float32],
    discount: float,
    steps: int,
    braking: int,
    action: NDArray[np.int64],
) -> None:
    """Write the best first action for every observation ``[N, observed · 5]``; ties go first."""
    road = Parameters(*parameters)
    seen = obs.shape[1] // FEATURES
    start, start_status = np.zeros((N_FIELDS, seen)), np.zeros((N_STATUS, seen), np.int32)
    for n in range(len(obs)):
        cars = reconstruct(obs[n], road.road_lanes, start, start_status)
        best = -math.inf
        for sequence in range(N_ACTIONS**steps):
            motion, status = start[:, :cars].copy(), start_status[:, :cars].copy()
            value, weight, divisor = 0.0, 1.0, N_ACTIONS ** (steps - 1)
            for _ in range(steps):
                chosen = sequence // divisor % N_ACTIONS
                divisor //= N_ACTIONS
                simulate(motion, status, chosen, road.road_lanes, road.frames, road.dt)
                value += weight * reward(
                    motion,
                    status,
                    road.road_lanes,
                    road.collision_reward,
                    road.right_lane_reward,
                    road.high_speed_reward,
                    road.low_speed,
                    road.high_speed,
                    road.normalized,
                )
                weight *= discount
                if status[CRASHED, EGO]:
                    break
            for _ in range(braking):
                if not status[CRASHED, EGO]:
                    simulate(motion, status, SLOWER, road.road_lanes, road.frames, road.dt)
            if status[CRASHED, EGO]:
                value -= CRASH
            if value > best:
                best = value
                action[n] = sequence // N_ACTIONS ** (steps - 1)


class Planner(FixedPolicy):
    """Look-ahead of two steps in the simulation, from the observed cars.

    It knows the dynamics of the suite's road and sees what other agents see. Ties go to the first
    action.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: PlannerConfig,
        device: torch.device,
    ) -> None:
        expect_kinematics(info)
        self.config = config
        self._discount = info.discount

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """First actions ``[L, M]`` of the best plans for ``obs`` ``[L, M, observed · 5]``."""
        seen = obs.cpu().contiguous().flatten(0, 1).numpy()
        action = np.zeros(len(seen), np.int64)
        road = tuple(parameters_of(ROAD, None))
        _plan(road, seen, self._discount, self.config.steps, BRAKING, action)
        return torch.from_numpy(action).view(obs.shape[:2]).to(obs.device)
