"""Copied lanes of environments."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor


def check_copied_lanes(
    make: Callable[[Sequence[int]], Any], seen: Callable[[Any], Tensor], actions: Iterable[int]
) -> None:
    """A copy goes on as its original, and begins anew so with its random numbers alone."""
    env, copies = make([1, 2]), make([5, 6, 7])
    for lanes, count in ((env, 2), (copies, 3)):
        lanes.reset()
        lanes.step(torch.ones(count, dtype=torch.int64))
    untouched = seen(copies)[1].clone()
    copies.copy_lanes(torch.tensor([2]), env, torch.tensor([1]), random_numbers=True)
    copies.copy_lanes(torch.tensor([0]), env, torch.tensor([1]), random_numbers=False)
    assert torch.equal(seen(copies)[1], untouched)
    for action in actions:
        left, right = env.step(torch.full((2,), action)), copies.step(torch.full((3,), action))
        assert torch.equal(right.next_obs[[0, 2]], left.next_obs[[1, 1]])
        assert torch.equal(right.reward[[0, 2]], left.reward[[1, 1]])
        if left.terminated[1]:
            break
    assert left.terminated[1]
    assert torch.equal(right.obs[2], left.obs[1])
    assert not torch.equal(right.obs[0], left.obs[1])
