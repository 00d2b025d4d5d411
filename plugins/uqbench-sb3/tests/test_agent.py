"""The libraries train on what the harness records."""

import tempfile

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from uqbench_sb3.agent import DQN, QRDQN
from uqbench_sb3.config import SB3Config
from uqbench_sb3.plugin import uqbench_agents

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.agent import EnvironmentInfo
from uqbench.runner.train.loop_agent import RecordedLanes, train
from uqbench.runner.train.recorder import Recorder

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


def run(kind: type[DQN], steps: int = 600, actors: int = 1) -> tuple[DQN, list[dict]]:
    lanes = GymnasiumLanes(Choice, [3 + actor for actor in range(actors)])
    recorder = Recorder(1, steps, (), torch.device("cpu"), actors=actors)
    agent = kind(EnvironmentInfo(lanes.observation_space, 2, 0.9, steps, actors=actors), CONFIG)
    train(agent, RecordedLanes(lanes, steps, recorder, lambda step: None), steps, 5, actors)
    return agent, recorder.finish()


@pytest.fixture(scope="module")
def trained():
    return {kind: run(kind) for kind in (DQN, QRDQN)}


@pytest.mark.filterwarnings("ignore")  # the libraries' own
@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_it_learns_every_step_is_recorded_and_the_same_seed_gives_the_same_episodes(kind, trained):
    agent, [(_, episodes)] = trained[kind]
    assert agent.policy(np.ones(3, np.float32)) == 1
    assert episodes["length"].sum() == 600
    assert episodes["return"][-200:].mean() > 0.9
    _, [(_, again)] = run(kind)
    assert (again["return"] == episodes["return"]).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_with_actors_it_learns_from_all_of_them_with_as_many_gradient_steps(kind, trained):
    agent, [(_, episodes)] = run(kind, actors=4)
    assert agent.policy(np.ones(3, np.float32)) == 1
    assert (episodes["length"].sum(), agent.model.num_timesteps) == (600, 600)
    # the library learns after its first steps beyond learning_starts, which come four by four
    assert abs(agent.model._n_updates - trained[kind][0].model._n_updates) <= 4
    _, [(_, repeated)] = run(kind, actors=4)
    assert (repeated["return"] == episodes["return"]).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_it_leaves_no_files_behind(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run(kind, steps=64)
    own = [path for path in tmp_path.iterdir() if not path.name.startswith("torchinductor_")]
    assert own == []  # but for the compiler's cache, which every process of a user shares


@pytest.mark.filterwarnings("ignore")
def test_what_they_predict_is_what_was_paid(trained):
    """A step pays its action and ends the episode: Q is 0 and 1, and so is the distribution."""
    obs = torch.ones(2, 3).numpy()
    q = trained[DQN][0].uncertainty(obs)
    assert q.mean.shape == (1, 2, 2)
    assert q.return_atoms is None
    stated = trained[QRDQN][0].uncertainty(obs)
    assert stated.return_atoms.shape == stated.return_probs.shape == (1, 2, 2, 5)
    assert (stated.return_probs.sum(-1) - 1).abs().max() < 1e-6
    assert torch.equal(stated.mean.argmax(-1), torch.ones(1, 2, dtype=torch.int64))
    for found in (q, stated):
        assert (found.mean - torch.tensor([0.0, 1.0])).abs().max() < 0.2


def test_budgets_with_actors_take_both():
    assert [spec.takes_actors for spec in uqbench_agents()] == [True, True]
