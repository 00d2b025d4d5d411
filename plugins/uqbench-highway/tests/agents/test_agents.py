"""The script and the planner on the suite's road."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from uqbench_highway.agents.config import KeepRightConfig, PlannerConfig
from uqbench_highway.agents.keep_right import KeepRight
from uqbench_highway.agents.planner import Planner, reconstruct
from uqbench_highway.agents.road import ROAD
from uqbench_highway.lanes import HighwayLanes
from uqbench_highway.simulation import cars
from uqbench_highway.simulation.control import LANE_RIGHT, SLOWER

from uqbench.agent import Agent, EnvironmentInfo
from uqbench.builtin.trivial import ConstantAction, ConstantActionConfig
from uqbench.environment import TimeLimit
from uqbench.errors import UqbenchError
from uqbench.runner.train.evaluation import Evaluated, evaluate
from uqbench.testing.worlds import act

CPU = torch.device("cpu")
SPEC = EnvironmentInfo(spaces.Box(-np.inf, np.inf, (25,)), 5, 0.99, total_steps=1000)
EPISODES = 60


def drive(agent: Agent) -> Evaluated:
    env = HighwayLanes(ROAD, range(EPISODES), TimeLimit(40, "terminal"))
    return evaluate(agent, env, 1, EPISODES, 40, 0.99, ("crashes",))


def test_the_planner_beats_braking_and_seldom_crashes():
    planned = drive(Planner(SPEC, [0], PlannerConfig(), CPU))
    braked = drive(ConstantAction(SPEC, [0], ConstantActionConfig(action=SLOWER), CPU))
    assert planned.counts[1].mean() > braked.counts[1].mean() + 5
    assert planned.counts[2].mean() < 0.15


def test_a_plan_is_a_pure_function_of_the_observation_whatever_is_beside_it():
    obs, _ = HighwayLanes(ROAD, range(6)).reset()
    agent = Planner(SPEC, [0], PlannerConfig(), CPU)
    actions = agent.policy(obs[None])
    assert torch.equal(agent.policy(obs[None]), actions)
    assert torch.equal(agent.policy(obs[None, 2:3])[0], actions[0, 2:3])
    assert torch.equal(act(agent, obs), actions[0])
    assert set(agent.state_dict()) == {"_discount"}


def test_observed_cars_are_reconstructed():
    """Up to float32, and to the position along the road; no car changes its road lane at first."""
    env = HighwayLanes(ROAD, range(20))
    obs, _ = env.reset()
    for _ in range(3):
        obs = env.step(torch.full((20,), LANE_RIGHT)).obs
        for lane in range(20):
            motion, status = np.zeros((cars.N_FIELDS, 5)), np.zeros((cars.N_STATUS, 5), np.int32)
            n = reconstruct(obs[lane].numpy(), ROAD.lanes_count, motion, status)
            true, true_status = env.arrays.motion[lane].numpy(), env.arrays.status[lane].numpy()
            relative = true[cars.X] - true[cars.X, cars.EGO]
            for car in range(n):
                along = motion[cars.X, car] - motion[cars.X, cars.EGO]
                same = int(np.abs(relative - along).argmin())
                for field in (cars.Y, cars.HEADING, cars.SPEED):
                    assert abs(motion[field, car] - true[field, same]) < 1e-3
                assert status[cars.ROAD_LANE, car] == true_status[cars.ROAD_LANE, same]
            ego = [cars.TARGET_ROAD_LANE], [cars.EGO]
            assert status[ego] == true_status[ego]
            assert motion[cars.TARGET_SPEED, cars.EGO] == true[cars.TARGET_SPEED, cars.EGO]


def test_the_script_alternates_braking_and_keeping_right():
    agent = KeepRight(SPEC, [0] * 8, KeepRightConfig(), CPU)
    env = HighwayLanes(ROAD, range(8))
    obs, _ = env.reset()
    start = env.arrays.status[:, cars.ROAD_LANE, cars.EGO].clone()
    for t in range(12):
        action = act(agent, obs)
        rightmost = env.arrays.status[:, cars.TARGET_ROAD_LANE, cars.EGO] == 4
        expected = torch.where(rightmost | (torch.tensor(t % 2) == 0), SLOWER, LANE_RIGHT)
        crashed = env.arrays.crashes > 0
        if t == 0 or not crashed.any():
            assert torch.equal(action, expected)
        obs = env.step(action).obs
        if env.arrays.terminated.any():
            break
    assert t > 2
    assert (env.arrays.status[:, cars.ROAD_LANE, cars.EGO] >= start).any()


def test_another_environment_is_refused():
    other = EnvironmentInfo(spaces.Box(-1, 1, (4,)), 2, 0.99, total_steps=1000)
    for kind, config in ((Planner, PlannerConfig()), (KeepRight, KeepRightConfig())):
        with pytest.raises(UqbenchError, match="expected the environment highway"):
            kind(other, [0], config, CPU)
    with pytest.raises(ValueError, match="steps must be at least 1; got 0"):
        PlannerConfig(steps=0)
