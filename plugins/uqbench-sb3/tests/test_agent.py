"""The libraries train on what the harness records."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from uqbench_sb3.agent import DQN, QRDQN
from uqbench_sb3.config import SB3Config

from uqbench.agent import EnvironmentInfo
from uqbench.environment import GymnasiumLanes
from uqbench.runner.owned_loop import RecordedEnv, train
from uqbench.runner.recorder import Recorder

CPU = torch.device("cpu")
CONFIG = SB3Config(learning_rate=3e-3, learning_starts=32, exploration_steps=200, hidden=16,
                   target_update_interval=50, quantiles=5)  # fmt: skip


class Choice(gymnasium.Env):
    """One step an episode; action 1 pays 1, action 0 nothing."""

    observation_space = spaces.Box(0, 1, (3,))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(3, np.float32), {}

    def step(self, action):
        return np.ones(3, np.float32), float(action), True, False, {}


def run(kind: type[DQN], steps: int = 600) -> tuple[DQN, list[dict]]:
    lane = GymnasiumLanes(Choice, [3])
    recorder = Recorder(1, steps, (), CPU)
    agent = kind(EnvironmentInfo(lane.observation_space, 2, 0.9, steps), CONFIG)
    train(agent, RecordedEnv(lane, steps, recorder, lambda step: None), steps, seed=5)
    return agent, recorder.finish()


@pytest.mark.filterwarnings("ignore")  # the libraries' own
@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_it_learns_every_step_is_recorded_and_the_same_seed_gives_the_same_episodes(kind):
    agent, [(_, episodes)] = run(kind)
    assert agent.policy(np.ones(3, np.float32)) == 1
    assert episodes["length"].sum() == 600
    assert episodes["return"][-200:].mean() > 0.9
    _, [(_, again)] = run(kind)
    assert (again["return"] == episodes["return"]).all()
