"""A method that owns its loop is recorded, stopped, and told what it may not do."""

from io import BytesIO

import numpy as np
import pytest
import torch
from gymnasium import Env, spaces

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.agent import LoopAgent, Uncertainty
from uqbench.environment import TimeLimit
from uqbench.errors import CannotSaveError, UqbenchError
from uqbench.runner.train.exported_agents import exported_agent
from uqbench.runner.train.guards import Checked
from uqbench.runner.train.loop_agent import RecordedLanes, SinglePolicy, train
from uqbench.runner.train.recorder import Recorder


class Clock(Env):
    """Episodes of five steps; the observation is the step, the reward is the action."""

    observation_space = spaces.Box(0, 5, (1,))
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.array([0], np.float32), {"action_mask": np.array([True, False, True])}

    def step(self, action):
        self.t += 1
        info = {"action_mask": np.array([self.t % 2 == 0, True, True])}
        return np.array([self.t], np.float32), float(action), self.t == 5, False, info


class Endless(LoopAgent):
    """Plays on until the environment stops it."""

    def train(self, env, total_steps, seed):
        self.seen = []
        while True:
            obs, info = env.reset()
            done = False
            while not done:
                t = int(obs[0])
                assert info["action_mask"].tolist() == [t % 2 == 0, t > 0, True]
                self.seen.append(float(t))
                obs, _, terminated, truncated, info = env.step(2)
                done = terminated or truncated

    def policy(self, obs, valid=None):
        return int(obs[0]) % 3


class Short(Endless):
    def train(self, env, total_steps, seed):
        env.reset()
        env.step(0)


class Restless(Endless):
    def train(self, env, total_steps, seed):
        env.reset()
        env.step(0)
        env.reset()


def run(agent, steps=13, limit=None, actors=1):
    told, recorder = [], Recorder(1, steps, (), torch.device("cpu"), actors=actors)
    lanes = GymnasiumLanes(Clock, [*range(actors)], limit)
    train(agent, RecordedLanes(lanes, steps, recorder, told.append), steps, 0, actors=actors)
    [(_, episodes)] = recorder.finish()
    return episodes, told


def test_a_loop_without_an_end_is_stopped_after_its_steps():
    agent = Endless()
    episodes, told = run(agent)
    assert episodes["length"].tolist() == [5, 5, 3]
    assert episodes["end"].tolist() == ["terminated", "terminated", "unfinished"]
    assert episodes["return"].tolist() == [10, 10, 6]
    assert agent.seen == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert told == list(range(1, 13))  # the last step is told after the method has learned from it


class Together(Endless):
    """The first of two actors takes action 2, the second 0 where an episode begins and else 1."""

    def train(self, env, total_steps, seed):
        obs, infos = env.reset()
        self.seen, self.ends = [], []
        while True:
            assert infos["action_mask"][:, 1].tolist() == [bool(t) for t in obs[:, 0]]
            self.seen.append(obs[:, 0].tolist())
            obs, _, terminated, _, infos = env.step(np.array([2, int(obs[1, 0] > 0)]))
            self.ends += [last[0] for last in infos.get("final_obs", []) if terminated[0]]


def test_actors_step_together_and_each_has_its_own_episodes():
    agent = Together()
    episodes, told = run(agent, 16, actors=2)
    assert episodes["length"].tolist() == [5, 5, 3, 3]
    assert episodes["return"].tolist() == [10, 4, 6, 2]
    assert agent.seen == [[t % 5, t % 5] for t in range(9)]
    assert (agent.ends, told) == ([5, 5], list(range(2, 16, 2)))


class ResetsActors(Together):
    def train(self, env, total_steps, seed):
        env.reset()
        env.step(np.array([2, 0]))
        env.reset()


@pytest.mark.parametrize(("kind", "end"), [("terminal", "terminated"), ("truncation", "truncated")])
def test_time_limits_are_the_tasks(kind, end):
    episodes, _ = run(Endless(), limit=TimeLimit(4, kind))
    assert (episodes["length"].tolist(), episodes["end"][0]) == ([4, 4, 4, 1], end)


CUT_OFF = [
    (Short(), 1, "after 1 of 13 steps"),
    (Restless(), 1, "middle of an episode"),
    (ResetsActors(), 2, "middle of an episode"),
]


@pytest.mark.parametrize(("agent", "actors", "said"), CUT_OFF)
def test_training_is_neither_shorter_nor_cut_off_in_an_episode(agent, actors, said):
    with pytest.raises(UqbenchError, match=said):
        run(agent, actors=actors)


class Stating(Endless):
    """Says of every observation as much as its first number, or something of another shape."""

    def __init__(self, lanes=1):
        self.lanes = lanes

    def uncertainty(self, obs):
        return Uncertainty(mean=torch.tensor(obs)[None].expand(self.lanes, -1, 3))


def test_a_loop_agent_states_uncertainty_as_one_lane_and_as_no_other_number():
    obs = torch.tensor([[[1.0], [2.0]]])
    assert SinglePolicy(Endless()).uncertainty(obs) is None
    assert SinglePolicy(Stating()).uncertainty(obs).mean.tolist() == [[[1.0] * 3, [2.0] * 3]]
    said = r"shape \(2, 2, 3\).*; expected floats of shape \(1, 2, 3\) \(Stating"
    with pytest.raises(UqbenchError, match=said):
        Checked(SinglePolicy(Stating(lanes=2)), 3, 0).uncertainty(obs)


class Whole(Endless):
    """Acts by a number that it learns, among the valid actions, and says so."""

    def __init__(self):
        self.learned = 0

    def train(self, env, total_steps, seed):
        self.learned = 1 + seed
        super().train(env, total_steps, seed)

    def policy(self, obs, valid=None):
        return self.learned if valid is None else int(np.flatnonzero(valid)[-1])

    def metrics(self):
        return {"learned": self.learned}

    def state_dict(self):
        return {"learned": self.learned}

    def load_state_dict(self, state):
        self.learned = state["learned"]


class Unmasked(Endless):
    def policy(self, obs):
        return 0


def test_valid_actions_reach_the_policy_and_one_that_takes_none_is_refused():
    obs, valid = torch.zeros(1, 2, 1), torch.tensor([[[True, False, True], [True, False, False]]])
    assert SinglePolicy(Whole()).policy(obs, valid).tolist() == [[2, 0]]
    assert SinglePolicy(Whole()).policy(obs).tolist() == [[0, 0]]
    with pytest.raises(UqbenchError, match=r"Unmasked.policy is defined as policy\(obs\); expect"):
        SinglePolicy(Unmasked())


def test_its_metrics_are_numbers_of_one_lane():
    agent = Whole()
    assert SinglePolicy(agent).metrics()["learned"].tolist() == [0.0]
    agent.learned = "much"
    with pytest.raises(UqbenchError, match=r"Whole\.metrics returned 'learned' as 'much'; expect"):
        SinglePolicy(agent).metrics()


def test_its_state_is_kept_where_it_acts_the_same_with_it():
    trained, obs = Whole(), torch.zeros(1, 1, 1)
    run(trained)
    fresh = Whole()
    state = exported_agent(SinglePolicy(trained), SinglePolicy(fresh), 0, 1, obs)
    assert torch.load(BytesIO(state), weights_only=True) == {"learned": 1}
    assert fresh.learned == 1
    with pytest.raises(CannotSaveError, match="Endless has no state_dict"):
        exported_agent(SinglePolicy(Endless()), SinglePolicy(Endless()), 0, 1, obs)
    forgetful = Whole()
    forgetful.load_state_dict = lambda state: None
    with pytest.raises(CannotSaveError, match="acts otherwise than before"):
        exported_agent(SinglePolicy(trained), SinglePolicy(forgetful), 0, 1, obs)
