"""The members' data sets against lists that are kept the plain way."""

from __future__ import annotations

import torch
from uqbench_sentinel.bootstrap import Bootstrap

from uqbench.lanes import Clock

LANES, MEMBERS = 2, 3


def filled(steps: int, capacity: int, p: float) -> tuple[Bootstrap, list[list[list[int]]]]:
    """Data sets after some steps, and the slots they should hold, oldest first."""
    clock = Clock(torch.device("cpu"))
    bootstrap = Bootstrap(LANES, MEMBERS, capacity, clock)
    masks = torch.rand(steps, LANES, MEMBERS, generator=torch.Generator().manual_seed(steps)) < p
    for mask in masks:
        bootstrap.add(mask[:, None])
        clock.advance()
    expected = [
        [
            [t % capacity for t in range(max(0, steps - capacity), steps) if masks[t, lane, k]]
            for k in range(MEMBERS)
        ]
        for lane in range(LANES)
    ]
    return bootstrap, expected


def test_every_data_set_holds_the_masked_transitions_that_are_in_the_replay() -> None:
    """Before the ring is full, at that moment and after it went round, with every density."""
    for capacity in (1, 7, 50):
        for steps in (1, 5, 49, 50, 51, 173):
            for p in (0.0, 1 / 3, 1.0):
                bootstrap, expected = filled(steps, capacity, p)
                for lane in range(LANES):
                    for k in range(MEMBERS):
                        own = expected[lane][k]
                        assert bootstrap.sizes[lane, k] == len(own)
                        if own:
                            u = (torch.arange(len(own)) + 0.5) / len(own)
                            drawn = bootstrap.draw(u.expand(LANES, MEMBERS, -1))[lane, k]
                            assert drawn.tolist() == own


def test_the_largest_uniform_number_draws_the_newest() -> None:
    bootstrap, expected = filled(173, 50, 1 / 3)
    last = bootstrap.draw(torch.full((LANES, MEMBERS, 1), 1 - 2**-24))
    assert last[0, 0].item() == expected[0][0][-1]


def test_an_empty_data_set_draws_what_no_mask_allows() -> None:
    bootstrap, _ = filled(20, 50, 0.0)
    slots = bootstrap.draw(torch.rand(LANES, MEMBERS, 4))
    assert not bootstrap.masks(slots.flatten(1)).any()


def test_masks_are_those_of_the_transitions_in_the_slots() -> None:
    bootstrap, expected = filled(173, 50, 1 / 3)
    masks = bootstrap.masks(torch.arange(50).expand(LANES, -1))
    for lane in range(LANES):
        for k in range(MEMBERS):
            held = torch.nonzero(masks[lane, :, k]).flatten().tolist()
            assert held == sorted(expected[lane][k])


def test_it_goes_on_from_what_was_saved() -> None:
    for steps in (20, 173):
        bootstrap, _ = filled(steps, 50, 1 / 3)
        clock = Clock(torch.device("cpu"))
        clock.load_state_dict({"t": steps})
        other = Bootstrap(LANES, MEMBERS, 50, clock)
        other.load_state_dict(bootstrap.state_dict())
        for _ in range(60):
            mask = torch.rand(LANES, MEMBERS) < 0.5
            u = torch.rand(LANES, MEMBERS, 9)
            assert torch.equal(other.draw(u), bootstrap.draw(u))
            for data in (bootstrap, other):
                data.add(mask[:, None])
                data._clock.advance()
