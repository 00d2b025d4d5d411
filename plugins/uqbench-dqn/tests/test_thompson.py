"""Thompson sampling: greedy in a sample of a posterior."""

from __future__ import annotations

import torch
from uqbench_dqn.thompson import ThompsonSampling

from uqbench.lanes import Clock, Normal


def test_thompson_sampling_is_greedy_in_a_sample_that_is_new_at_every_step() -> None:
    clock, seeds = Clock(torch.device("cpu")), [3, 4]
    thompson = ThompsonSampling(seeds, 4, clock, scale=0.5)
    mean, std = torch.randn(2, 2, 1, 4, generator=torch.Generator().manual_seed(0))
    for t in range(20):
        score = mean + 0.5 * Normal(seeds, "thompson", (1, 4)).at(t) * std.abs()
        assert torch.equal(thompson.choose(mean, std.abs(), thompson.noise()), score.argmax(-1))
        clock.advance()
    only = torch.tensor([False, True, False, False])
    assert (thompson.choose(mean, std.abs(), thompson.noise(), only) == 1).all()
