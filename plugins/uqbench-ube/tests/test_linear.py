"""Inverse counts of linear values: equation 5 against the explicit inverse."""

from itertools import product

import pytest
import torch
from uqbench_ube.linear import InverseCounts

CPU = torch.device("cpu")


def data(lanes: int, steps: int, features: int, actions: int, seed: int = 0):
    g = torch.Generator().manual_seed(seed)
    phi = torch.randn(steps, lanes, features, generator=g).relu()
    return phi, torch.randint(actions, (steps, lanes), generator=g)


def test_the_updates_give_the_explicit_inverse():
    lanes, features, actions, prior = 3, 8, 4, 0.7
    phi, action = data(lanes, 200, features, actions)
    counts = InverseCounts(lanes, actions, features, prior, CPU)
    for t in range(200):
        counts.update(phi[t][:, None], action[t][:, None])
    for lane, a in product(range(lanes), range(actions)):
        taken = phi[action[:, lane] == a, lane].double()
        gram = torch.eye(features).double() / prior + taken.T @ taken
        found = counts.matrices[lane * actions + a]
        torch.testing.assert_close(found, torch.linalg.inv(gram), rtol=1e-9, atol=1e-12)


def test_it_stays_symmetric_positive_definite_and_exact_where_float32_would_not():
    """Features that hardly vary, as a network's: the worst of conditions."""
    lanes, features, steps = 1, 6, 5_000
    g = torch.Generator().manual_seed(2)
    base = torch.rand(features, generator=g) * 10
    phi = base + 1e-3 * torch.randn(steps, lanes, features, generator=g)
    counts = InverseCounts(lanes, 1, features, 1.0, CPU)
    action = torch.zeros(lanes, dtype=torch.int64)
    for t in range(steps):
        assert counts.update(phi[t][:, None], action[:, None]) > 0
    matrix = counts.matrices[0]
    assert torch.equal(matrix, matrix.T)
    assert torch.linalg.eigvalsh(matrix).min() > 0
    taken = phi[:, 0].double()
    exact = torch.linalg.inv(torch.eye(features).double() + taken.T @ taken)
    probe = taken[:100]
    stated = ((probe @ matrix) * probe).sum(-1)
    torch.testing.assert_close(stated, ((probe @ exact) * probe).sum(-1), rtol=1e-6, atol=0)


@pytest.mark.parametrize("features", [9, 128])
def test_actors_count_one_after_another(features):
    lanes, actors, actions = 2, 16, 3
    together, one_by_one = (InverseCounts(lanes, actions, features, 0.5, CPU) for _ in range(2))
    g = torch.Generator().manual_seed(3)
    for _ in range(20):
        phi = torch.randn(lanes, actors, features, generator=g).relu()
        action = torch.randint(actions, (lanes, actors), generator=g)
        found = together.update(phi, action)
        parts = zip(phi.split(1, 1), action.split(1, 1), strict=True)
        expected = torch.cat([one_by_one.update(*part) for part in parts], 1)
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(together.matrices, one_by_one.matrices, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("actors", "features"), [(1, 8), (1, 13), (1, 128), (17, 33)])
def test_a_lane_is_the_same_alone_and_among_others_bit_for_bit(actors, features):
    g = torch.Generator().manual_seed(4)
    phi = torch.randn(10, 3, actors, features, generator=g).relu()
    action = torch.randint(5, (10, 3, actors), generator=g)
    all_lanes = InverseCounts(3, 5, features, 1.0, CPU)
    found = torch.stack([all_lanes.update(*step) for step in zip(phi, action, strict=True)])
    for lane in range(3):
        alone, own = InverseCounts(1, 5, features, 1.0, CPU), slice(lane, lane + 1)
        for t in range(10):
            assert torch.equal(alone.update(phi[t, own], action[t, own]), found[t, own])
        assert torch.equal(alone.matrices, all_lanes.matrices[lane * 5 : lane * 5 + 5])
