"""Returns by rollouts in copies of states, in an environment whose values are known."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.environment import LaneEnv, Outcome
from uqbench.identity import Run
from uqbench.lanes import Uniform
from uqbench.queries import QueryStates
from uqbench.suites import Queries
from uqbench.uncertainty import rollouts
from uqbench.uncertainty.epistemic import action_noise, resolved
from uqbench.uncertainty.query_sources import RolloutSource
from uqbench.uncertainty.rollouts import rollout_returns

GAMMA = 0.9
STARTS = (1, 3, 9)


class Countdown(LaneEnv):
    """``k`` steps to go; a step pays its action plus a uniform number. Action 2 ends it at once."""

    n_actions = 3
    observation_space = spaces.Box(0, 99, (1,))

    def __init__(self, seeds: Sequence[int]) -> None:
        self.left = torch.full((len(seeds),), 20)
        self.key = torch.tensor(list(seeds))  # random numbers of this lane, and how many it drew
        self.drawn = torch.zeros(len(seeds), dtype=torch.int64)
        self.numbers = {seed: Uniform([seed], "countdown", ()) for seed in seeds}

    def reset(self) -> tuple[Tensor, None]:
        return self._seen(), None

    def step(self, action: Tensor) -> Outcome:
        pairs = zip(self.key.tolist(), self.drawn.tolist(), strict=True)
        noise = torch.tensor([
            self.numbers.setdefault(key, Uniform([key], "countdown", ())).at(t).item()
            for key, t in pairs])  # fmt: skip
        self.drawn += 1
        self.left = self.left - 1
        ended = (self.left == 0) | (action == 2)
        self.left = self.left.masked_fill(ended, 20)
        return Outcome(action + noise, ended, torch.zeros_like(ended), self._seen(), self._seen())

    def copy_lanes(self, into, other, lanes, *, random_numbers):
        assert isinstance(other, Countdown)
        self.left[into] = other.left[lanes]
        if random_numbers:
            self.key[into], self.drawn[into] = other.key[lanes], other.drawn[lanes]

    def _seen(self) -> Tensor:
        return self.left[:, None].float()


class Constant:
    """Lane ``i`` always takes action ``actions[i]``."""

    def __init__(self, actions: Sequence[int]) -> None:
        self.actions = torch.tensor(list(actions))

    def policy(self, obs: Tensor, valid: Any = None) -> Tensor:
        return self.actions[:, None].expand(obs.shape[:2])


def standing() -> Countdown:
    env = Countdown([0] * len(STARTS))
    env.left = torch.tensor(STARTS)
    return env


def returns(actions: Sequence[int], each: int, seeds=None, tail: float = 1e-9) -> Tensor:
    count = len(STARTS) * 3 * each
    seeds = seeds or range(len(actions))
    numbers = [[1_000 * seed + n for n in range(count)] for seed in seeds]
    place = torch.arange(len(STARTS)).expand(len(actions), -1)
    return rollout_returns(Constant(actions), standing(), place, Countdown, numbers, GAMMA, tail)


def test_the_means_are_the_policys_values():
    """``a + ½ + (p + ½) Σ_{0<t<k} γ^t``, unless a = 2 ends it; 18 means within 4.5 errors."""
    found = returns([0, 1], each=150)
    assert found.shape == (2, 3, 3, 150)
    for lane in range(2):
        for m, k in enumerate(STARTS):
            for a in range(3):
                later = 0 if a == 2 else sum(GAMMA**t for t in range(1, k))
                samples = found[lane, m, a]
                expected = a + 0.5 + (lane + 0.5) * later
                assert abs(samples.mean() - expected) < 4.5 * samples.std() / 150**0.5


def test_a_lanes_returns_are_the_same_alone_and_among_others_bit_for_bit(monkeypatch):
    """Rollouts of other lanes end at other times, and dead ones are dropped at others."""
    monkeypatch.setattr(rollouts, "SLAB", 4)
    together = returns([0, 2, 1], each=4, seeds=(5, 6, 7))
    for lane, (action, seed) in enumerate(((0, 5), (2, 6), (1, 7))):
        assert torch.equal(returns([action], each=4, seeds=(seed,))[0], together[lane])


@pytest.mark.parametrize(("slab", "stride"), [(2, 1), (8, 2), (8, 64)])
def test_dropping_rollouts_that_are_over_now_or_later_changes_no_return(slab, stride, monkeypatch):
    """Elsewhere than on a CPU they are looked at less often: in slabs of more."""
    kept = returns([0, 1], each=4)
    monkeypatch.setattr(rollouts, "SLAB", slab)
    monkeypatch.setattr(rollouts, "steps_between_looks", lambda device: stride)
    assert torch.equal(returns([0, 1], each=4), kept)


@pytest.mark.parametrize(("tail", "counted"), [(0.85, 2), (0.5, 7), (1e-6, 9)])
def test_a_rollout_ends_when_rewards_count_less_than_the_tail(tail, counted):
    """The longest has nine steps; with γ = 0.9, 0.9² < 0.85 and 0.9⁷ < 0.5."""
    noiseless = returns([1], each=2, tail=tail)[0, 2, 1]
    least = sum(GAMMA**t for t in range(counted))
    assert (noiseless > least).all()
    assert (noiseless < 2 * least).all()


def test_the_states_themselves_stay_where_they_are():
    env, agent = standing(), Constant([1])
    seeds = [list(range(len(STARTS) * 3 * 2))]
    rollout_returns(agent, env, torch.arange(len(STARTS))[None], Countdown, seeds, GAMMA, 1e-9)
    assert (env.left.tolist(), env.drawn.tolist()) == (list(STARTS), [0, 0, 0])


def test_every_lane_has_states_of_its_own_where_it_is_told_so():
    """Two lanes in the same states in another order: the same returns in another order."""
    seeds, place = [list(range(3 * 2))] * 2, torch.tensor([[0], [2]])
    found = rollout_returns(Constant([1, 1]), standing(), place, Countdown, seeds, GAMMA, 1e-9)
    for lane, state in enumerate((0, 2)):
        one = Constant([1]), standing(), torch.tensor([[state]])
        assert torch.equal(found[lane], rollout_returns(*one, Countdown, seeds[:1], GAMMA, 1e-9)[0])
    assert found[0, 0, 0].max() < found[1, 0, 0].min()  # one step to go, or nine


def truths(seeds: Sequence[int], most: int | None, left: int = 3) -> Tensor:
    """``[L, 1, A, R]`` of the policy that takes action 0, with ``left`` steps to go."""
    states = QueryStates((0,), ((0,) * 20,), ((0, 20 - left),))
    asked = Queries(states=1, rollouts=2, most_rollouts=most, tail=0.01)
    runs = [Run("toy", "cpu", "countdown", "zero", seed, {}) for seed in seeds]
    source = RolloutSource(asked, states, runs, Countdown, GAMMA, 1)
    found = source.truth(Constant([0] * len(seeds)), 1).returns
    assert found is not None
    return found


def test_rollouts_of_a_states_actions_share_their_random_numbers():
    """A step pays its action and a uniform number: with one, action 1 pays 1 more, exactly."""
    shared, own = truths([0], 2)[0, 0], truths([0], None)[0, 0]
    assert shared[1] - shared[0] == pytest.approx([1, 1], abs=1e-6)
    assert (own[1] - own[0] - 1).abs().min() > 1e-3
    assert shared[0, 0] != shared[0, 1]


def test_as_many_rollouts_are_made_as_resolve_the_differences_between_actions():
    """Lane by lane, two at a time, whatever another lane needs; at most as many as are asked for.

    Action 2 ends the episode at once: with twelve steps to go it forgoes .9 + … + .9¹¹ halves.
    """
    seeds, most = range(20), 16
    together, needed = truths(seeds, most, left=12), []
    for seed, lane in zip(seeds, together, strict=True):
        own = lane[..., ~lane.isnan().any(0).any(0)]
        assert torch.equal(own, truths([seed], most, left=12)[0])
        needed.append(own.shape[-1])
        enough = [bool(resolved(*action_noise(own[..., :n]))) for n in range(2, needed[-1] + 1, 2)]
        assert not any(enough[:-1])
        assert enough[-1] or needed[-1] == most
    assert len({*needed}) > 1
