"""Query states of the road, and copies of its lanes."""

import pytest
import torch
from uqbench_highway.config import N_ACTIONS, HighwayConfig
from uqbench_highway.lanes import HighwayLanes
from uqbench_highway.plugin import uqbench_environments
from uqbench_highway.queries import query_states

from uqbench.environment import TimeLimit
from uqbench.queries import visit
from uqbench.specs import imported

LIMIT = TimeLimit(40, "terminal")


@pytest.fixture(scope="module")
def seen():
    """The states, and what is observed in them."""
    states = query_states(HighwayConfig())
    env = HighwayLanes(HighwayConfig(), states.seeds, LIMIT)
    obs = torch.zeros(256, *env.observation_space.shape)
    for numbers, _, there in visit(states, env):
        obs[numbers] = there
    return states, obs


def test_a_copied_road_goes_on_as_its_original_and_begins_anew_with_its_own_random_numbers():
    env, copies = (HighwayLanes(HighwayConfig(), seeds, LIMIT) for seeds in ([1, 2], [5, 6, 7]))
    for lanes in (env, copies):
        lanes.reset()
        lanes.step(torch.ones(len(lanes.arrays.length), dtype=torch.int64))
    untouched = copies.state_dict()["motion"][1].clone()
    copies.copy_lanes(torch.tensor([2]), env, torch.tensor([1]), random_numbers=True)
    copies.copy_lanes(torch.tensor([0]), env, torch.tensor([1]), random_numbers=False)
    assert torch.equal(copies.state_dict()["motion"][1], untouched)
    for t in range(40):
        action = t % N_ACTIONS
        left, right = env.step(torch.full((2,), action)), copies.step(torch.full((3,), action))
        assert torch.equal(right.next_obs[[0, 2]], left.next_obs[[1, 1]])
        assert torch.equal(right.reward[[0, 2]], left.reward[[1, 1]])
        if left.terminated[1]:
            break
    assert left.terminated[1]
    assert torch.equal(right.obs[2], left.obs[1])
    assert not torch.equal(right.obs[0], left.obs[1])


def test_the_query_states_are_many_different_ones_of_32_trajectories(seen):
    states, obs = seen
    assert len(states.places) == len(set(states.places)) == 256
    assert {i for i, _ in states.first(32).places} == set(range(32))
    assert len(obs.unique(dim=0)) > 240


def test_unseen_traffic_has_the_norm_of_the_seen_and_no_car_of_one_s_own(seen):
    states, obs = seen
    unseen = states.unseen(obs)
    assert (obs[:, 0] == 1).all()
    assert (unseen[:, 0] == -1).all()
    assert torch.equal(unseen.norm(dim=-1), obs.norm(dim=-1))


def test_the_package_s_backend_has_no_query_states():
    (spec,) = uqbench_environments()
    states = imported(spec.queries)
    assert states(HighwayConfig(backend="oracle")) is None
    assert states(HighwayConfig()) is not None
