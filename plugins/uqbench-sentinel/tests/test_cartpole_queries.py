"""Query states of CartPole, and copies of its lanes."""

from __future__ import annotations

import torch
from uqbench_sentinel.cartpole import CartPoleConfig, CartPoleLanes
from uqbench_sentinel.cartpole_queries import query_states

from uqbench.queries import visit


def test_a_copied_pole_falls_as_its_original_and_rises_again_only_with_its_random_numbers():
    env, copies = (CartPoleLanes(CartPoleConfig(), seeds) for seeds in ([1, 2], [3, 4, 5]))
    for lanes in (env, copies):
        lanes.reset()
        lanes.step(torch.ones(len(lanes._length), dtype=torch.int64))
    untouched = copies._observations()[1]
    copies.copy_lanes(torch.tensor([2]), env, torch.tensor([1]), random_numbers=True)
    copies.copy_lanes(torch.tensor([0]), env, torch.tensor([1]), random_numbers=False)
    assert torch.equal(copies._observations()[1], untouched)
    fallen = False
    while not fallen:
        left, right = env.step(torch.ones(2).long()), copies.step(torch.ones(3).long())
        assert torch.equal(right.next_obs[[0, 2]], left.next_obs[[1, 1]])
        fallen = bool(left.terminated[1])
    assert torch.equal(right.obs[2], left.obs[1])
    assert not torch.equal(right.obs[0], left.obs[1])


def test_the_query_states_are_upright_and_most_unseen_ones_have_fallen():
    """With the same norm; but for those that begin."""
    states = query_states(CartPoleConfig())
    assert len(set(states.places)) > 240
    assert {i for i, _ in states.first(64).places} == set(range(64))
    seen = [obs for _, _, obs in visit(states, CartPoleLanes(CartPoleConfig(), states.seeds))]
    upright = torch.cat(seen)
    fallen = states.unseen(upright)
    assert (upright[:, 2].abs() < 0.21).all()
    assert (fallen[:, 2].abs() > 0.21).double().mean() > 0.75
    assert torch.equal(fallen.sort(-1).values, upright.sort(-1).values)
