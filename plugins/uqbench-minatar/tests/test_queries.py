"""Query states of the games, and copies of lanes."""

import pytest
import torch
from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.lanes import MinAtarLanes
from uqbench_minatar.queries import query_states

from uqbench.queries import visit

SINCE = 40


def played(game: str, seeds: list[int], steps: int) -> MinAtarLanes:
    """Lanes in the middle of a game."""
    env = MinAtarLanes(GameConfig(game=game), seeds)
    env.reset()
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        env.step(torch.randint(N_ACTIONS, (len(seeds),), generator=generator))
    return env


@pytest.mark.parametrize("game", GAMES)
def test_a_copied_lane_goes_on_as_its_original_with_its_random_numbers_only(game):
    env, copies = played(game, [1, 2], SINCE), played(game, [5, 6, 7], 3)
    own = copies.state_dict()
    copies.copy_lanes(torch.tensor([2]), env, torch.tensor([1]), random_numbers=True)
    copies.copy_lanes(torch.tensor([0]), env, torch.tensor([1]), random_numbers=False)
    now, original = copies.state_dict(), env.state_dict()
    assert any(not torch.equal(array[0], own[name][0]) for name, array in now.items())  # a copy
    for name, array in now.items():
        assert torch.equal(array[1], own[name][1])  # not named, not touched
        assert torch.equal(array[2], original[name][1])
        source = own[name][0] if name == "streams" else original[name][1]
        assert torch.equal(array[0], source)
    seen = []
    for t in range(60):
        action = 1 + t // 2 % 5
        left = env.step(torch.tensor([3, action]))
        obs, reward, ended = (x[1].clone() for x in (left.next_obs, left.reward, left.terminated))
        right = copies.step(torch.full((3,), action))
        assert torch.equal(right.next_obs[2], obs)
        assert (right.reward[2], right.terminated[2]) == (reward, ended)
        seen.append(torch.equal(right.next_obs[0], obs))
    assert not all(seen)  # sticky actions alone see to that


@pytest.mark.parametrize("game", GAMES)
def test_the_query_states_are_many_different_ones_of_32_trajectories(game):
    states = query_states(GameConfig(game=game))
    assert len(states.places) == len(set(states.places)) == 256
    assert {i for i, _ in states.first(32).places} == set(range(32))
    env = MinAtarLanes(GameConfig(game=game), states.seeds)
    frames = torch.zeros(256, *env.observation_space.shape, dtype=torch.bool)
    for numbers, lanes, obs in visit(states, env):
        assert torch.equal(obs, env.outcome.obs[lanes])
        frames[numbers] = obs
    unseen = states.unseen(frames)
    assert (frames[:, 0].sum((1, 2)) == 1).all()  # the player
    assert (unseen[:, 0].sum((1, 2)) != 1).all()  # none, or several
    assert torch.equal(unseen.sum((1, 2, 3)), frames.sum((1, 2, 3)))
    assert len(frames.unique(dim=0)) > 180
    assert len(states.actions[0]) == 150
    with pytest.raises(ValueError, match="at most 256 query states, got 257"):
        states.first(257)
