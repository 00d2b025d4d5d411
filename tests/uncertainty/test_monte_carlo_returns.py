"""Visited states and what was realized there, in an environment that cannot be copied."""

from types import SimpleNamespace

import pytest
import torch
from gymnasium import spaces

from uqbench.agent import Uncertainty
from uqbench.environment import LaneEnv, Outcome
from uqbench.uncertainty import monte_carlo_returns
from uqbench.uncertainty.monte_carlo_returns import EACH, MonteCarloSource

GAMMA, LENGTH = 0.9, 30


class Steps(LaneEnv):
    """Episodes of thirty steps; the observation is the step, the reward the action plus one."""

    n_actions = 2
    observation_space = spaces.Box(0, LENGTH, (1,))

    def __init__(self, seeds, ends="terminated"):
        self.t = torch.zeros(len(seeds), dtype=torch.int64)
        self.ends = ends

    def reset(self):
        return self._seen(), None

    def step(self, action):
        self.t = self.t + 1
        over = self.t == LENGTH
        self.t = self.t.masked_fill(over, 0)
        never = torch.zeros_like(over)
        terminated, truncated = (over, never) if self.ends == "terminated" else (never, over)
        return Outcome(action + 1.0, terminated, truncated, self._seen(), self._seen())

    def _seen(self):
        return self.t[:, None].float()


class Alternating:
    """Takes the actions 0, 1, 0, 1, … in every episode, and says what ``said`` does."""

    def __init__(self, said=None):
        self.said = said

    def policy(self, obs, valid=None):
        return obs[..., 0].long() % 2

    def uncertainty(self, obs):
        return self.said


STATING = Alternating(Uncertainty(mean=torch.zeros(1)))


def source(runs=(0,), states=64, tail=1e-3, max_steps=100, ends="terminated"):
    of = {"suite": "s", "task": "t"}
    named = [SimpleNamespace(**of, seed=seed, environment_seed=seed) for seed in runs]
    return MonteCarloSource(named, lambda seeds: Steps(seeds, ends), GAMMA, states, tail, max_steps)


def worth(t):
    """Of step ``t``'s state, by the policy."""
    return sum(GAMMA ** (k - t) * (1 + k % 2) for k in range(t, LENGTH))


def test_the_truth_is_what_followed_and_of_the_action_that_was_taken_alone():
    asked = source()
    obs, q = asked.obs(STATING, step=5), asked.truth(STATING, step=5).q
    assert (obs.shape, q.shape) == ((1, 64, 1), (1, 64, 2))
    for (t,), (first, second) in zip(obs[0].tolist(), q[0].tolist(), strict=True):
        taken, other = (first, second) if t % 2 == 0 else (second, first)
        assert taken == pytest.approx(worth(int(t)))
        assert other != other


def test_every_state_of_an_episode_is_as_likely_as_any_other():
    """4,000 of thirty: counts of 133 on average; all within 4.5 standard deviations of it."""
    obs = source(states=4_000).obs(STATING, step=1)
    counts = obs.flatten().long().bincount(minlength=LENGTH).double()
    assert (counts - 4_000 / LENGTH).abs().max() < 4.5 * (4_000 / LENGTH) ** 0.5
    assert all(len(set(one)) == EACH for one in obs.view(-1, EACH).tolist())


def test_a_return_whose_rest_was_not_seen_is_not_known():
    """γ²² < 0.1: of a truncated episode only the first steps are known, and of a cut one, too."""
    for ends, max_steps in (("truncated", 100), ("terminated", LENGTH - 1)):
        asked = source(tail=0.1, ends=ends, max_steps=max_steps)
        obs = asked.obs(STATING, step=1)[..., 0]
        known = ~asked.truth(STATING, step=1).q.isnan().all(-1)
        assert torch.equal(known, GAMMA ** (min(LENGTH, max_steps) - obs.double()) < 0.1)
        assert known.any()
        assert not known.all()


@pytest.mark.parametrize("ends", ["terminated", "truncated"])
def test_where_it_is_looked_at_less_often_states_and_returns_are_the_same(ends, monkeypatch):
    often, seldom = source(ends=ends, tail=0.1), source(ends=ends, tail=0.1)
    obs = often.obs(STATING, step=1)
    monkeypatch.setattr(monte_carlo_returns, "steps_between_looks", lambda device: 64)
    assert torch.equal(seldom.obs(STATING, step=1), obs)
    known, q = (one.truth(STATING, step=1).q for one in (seldom, often))
    assert torch.equal(known.nan_to_num(nan=-1.0), q.nan_to_num(nan=-1.0))


def test_a_lanes_states_are_its_own_and_another_time_has_others():
    alone, together = source(runs=[7]), source(runs=[3, 7])
    first = alone.obs(STATING, step=5)
    assert torch.equal(together.obs(STATING, step=5)[1], first[0])
    assert torch.equal(alone.obs(STATING, step=5), first)
    assert not torch.equal(alone.obs(STATING, step=6), first)


def test_who_states_nothing_does_not_play():
    assert source().obs(Alternating(), step=5) is None
