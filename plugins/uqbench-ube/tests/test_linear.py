"""Inverse counts of linear values: equation 5 against the explicit inverse."""

from __future__ import annotations

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
    for lane in range(lanes):
        for a in range(actions):
            taken = phi[action[:, lane] == a, lane].double()
            gram = torch.eye(features).double() / prior + taken.T @ taken
            found = counts.matrices[lane * actions + a]
            torch.testing.assert_close(found, torch.linalg.inv(gram), rtol=1e-9, atol=1e-12)


def test_what_an_update_returns_is_the_inverse_count_before_it():
    """With one-hot features Σ_a is diagonal: 1 / (n + 1/μ)."""
    counts = InverseCounts(2, 2, 3, 0.5, CPU)
    e = torch.eye(3)
    seen = torch.zeros(2, 2, 3)
    g = torch.Generator().manual_seed(1)
    for _ in range(50):
        state, action = torch.randint(3, (2,), generator=g), torch.randint(2, (2,), generator=g)
        returned = counts.update(e[state][:, None], action[:, None])[:, 0]
        lanes = torch.arange(2)
        expected = 1 / (seen[lanes, action, state] + 2)
        torch.testing.assert_close(returned, expected.double())
        seen[lanes, action, state] += 1
    assert (counts.matrices - torch.diag_embed(counts.matrices.diagonal(0, 1, 2))).abs().max() == 0


def test_it_stays_symmetric_and_positive_definite_where_float32_would_not():
    """Features that hardly vary, as a network's: the worst of conditions."""
    lanes, features, steps = 1, 6, 5_000
    g = torch.Generator().manual_seed(2)
    base = torch.rand(features, generator=g) * 10
    phi = base + 1e-3 * torch.randn(steps, lanes, features, generator=g)
    counts = InverseCounts(lanes, 1, features, 1.0, CPU)
    single = torch.eye(features)
    action = torch.zeros(lanes, dtype=torch.int64)
    for t in range(steps):
        assert counts.update(phi[t][:, None], action[:, None]) > 0
        v = single @ phi[t, 0]
        single = single - torch.outer(v, v) / (1 + phi[t, 0] @ v)
    matrix = counts.matrices[0]
    assert torch.equal(matrix, matrix.T)
    assert torch.linalg.eigvalsh(matrix).min() > 0
    taken = phi[:, 0].double()
    exact = torch.linalg.inv(torch.eye(features).double() + taken.T @ taken)
    probe = taken[:100]
    stated = ((probe @ matrix) * probe).sum(-1)
    torch.testing.assert_close(stated, ((probe @ exact) * probe).sum(-1), rtol=1e-6, atol=0)
    in_single = ((probe.float() @ single) * probe.float()).sum(-1).double()
    assert ((in_single - stated).abs() / stated).max() > 0.01  # why it is float64


@pytest.mark.parametrize("features", [8, 13, 128])
def test_a_lane_is_the_same_alone_and_among_others_bit_for_bit(features):
    phi, action = data(5, 30, features, 3)
    together = InverseCounts(5, 3, features, 1.0, CPU)
    alone = [InverseCounts(1, 3, features, 1.0, CPU) for _ in range(5)]
    for t in range(30):
        returned = together.update(phi[t][:, None], action[t][:, None])
        for lane, own in enumerate(alone):
            single = own.update(phi[t, None, lane : lane + 1], action[t, None, lane : lane + 1])
            assert torch.equal(single[0], returned[lane])
    for lane, own in enumerate(alone):
        assert torch.equal(own.matrices, together.matrices[lane * 3 : lane * 3 + 3])


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


def test_actors_of_a_lane_are_counted_alike_alone_and_among_others():
    g = torch.Generator().manual_seed(4)
    phi = torch.randn(10, 3, 17, 33, generator=g).relu()
    action = torch.randint(5, (10, 3, 17), generator=g)
    all_lanes = InverseCounts(3, 5, 33, 1.0, CPU)
    found = torch.stack([all_lanes.update(*step) for step in zip(phi, action, strict=True)])
    for lane in range(3):
        alone, own = InverseCounts(1, 5, 33, 1.0, CPU), slice(lane, lane + 1)
        for t in range(10):
            assert torch.equal(alone.update(phi[t, own], action[t, own]), found[t, own])
