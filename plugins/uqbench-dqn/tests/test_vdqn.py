"""VDQN and Thompson sampling: what they compute, against plain formulas."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from gymnasium import spaces
from uqbench_dqn.config import VDQNConfig
from uqbench_dqn.thompson import ThompsonSampling
from uqbench_dqn.vdqn import VDQN

from uqbench.agent import EnvironmentInfo
from uqbench.lanes import Clock, Normal
from uqbench.risk import CVaR, MarginalRisk
from uqbench.testing.worlds import act, transitions

INFO = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
SHARED: dict[str, Any] = {
    "hidden": (9, 7), "batch_size": 6, "learning_starts": 10, "target_sync_period": 25,
    "replay_capacity": 50, "learning_rate": 1e-2}  # fmt: skip


def make(seeds: Sequence[int], **settings: Any) -> VDQN:
    return VDQN(INFO, seeds, VDQNConfig(**SHARED | settings), torch.device("cpu"))


def test_the_posterior_starts_as_the_released_code_has_it():
    for layer, inputs in zip(make([0]).online.layers, (5, 9, 7), strict=True):
        bound = math.sqrt(3 / inputs)
        assert 0.8 * bound < layer.mean.abs().max() <= bound
        assert not layer.bias_mean.any()
        stds = torch.nn.functional.softplus(layer.rho)
        torch.testing.assert_close(stds, torch.full_like(stds, 0.017), rtol=1e-4, atol=0)


def test_the_risk_measure_decides_over_the_draws():
    agent = make([5], samples=8, risk=MarginalRisk(CVaR(0.25)), posterior_std=2.0)
    obs = torch.rand(1, 200, 5, generator=torch.Generator().manual_seed(0))
    values = agent.uncertainty(obs).value_samples
    assert values.shape == (1, 200, 3, 8)
    assert torch.equal(agent.policy(obs), CVaR(0.25).of_quantiles(values).argmax(-1))
    neutral = make([5], samples=8, posterior_std=2.0)
    assert torch.equal(neutral.policy(obs), values.mean(-1).argmax(-1))
    assert not torch.equal(agent.policy(obs), neutral.policy(obs))


def test_acting_is_greedy_in_a_draw_of_the_values_that_is_new_at_every_step():
    """Thompson sampling, in one and the same state; nothing is learned."""
    agent, obs, taken = make([5], posterior_std=2.0, learning_starts=900), torch.ones(1, 1, 5), []
    for step in transitions([5], (5,), 3, 40):
        drawn = agent.online(obs, agent._acting.at(agent.clock)[:, :, 0])
        taken.append(agent.act(obs).item())
        assert taken[-1] == drawn.argmax(-1).item()
        agent.observe(step)
    assert len({*taken}) > 1


def test_a_target_is_of_the_best_valid_action():
    agent = make([5], posterior_std=2.0)
    generator = torch.Generator().manual_seed(0)
    obs = torch.randn(1, 64, 5, generator=generator)
    valid = torch.rand(1, 64, 3, generator=generator) < 0.5
    valid[..., 1] |= ~valid.any(-1)
    noise = torch.randn(1, 64, agent.online.units, generator=generator)
    batch = {
        "next_obs": obs, "next_valid": valid, "reward": torch.zeros(1, 64),
        "terminated": torch.zeros(1, 64, dtype=torch.bool),
    }  # fmt: skip
    best = agent.target(obs, noise).masked_fill(~valid, -math.inf).amax(-1)
    torch.testing.assert_close(agent.drawn_target(batch, noise)[..., 0], 0.9 * best)


def test_with_an_epsilon_of_one_actions_are_random_among_the_valid():
    agent = make(range(400), exploration="epsilon-greedy", samples=2)
    obs, valid = torch.zeros(400, 5), torch.tensor([True, False, True]).expand(400, 3)
    counts = torch.bincount(act(agent, obs, valid), minlength=3)
    assert counts[1] == 0
    # 400 fair draws: outside of 200 ± 60 with a probability below 3e-9
    assert abs(counts[0] - 200) < 60


def test_thompson_sampling_is_greedy_in_a_sample_that_is_new_at_every_step():
    clock, seeds = Clock(torch.device("cpu")), [3, 4]
    thompson = ThompsonSampling(seeds, 4, clock, scale=0.5)
    mean, std = torch.randn(2, 2, 1, 4, generator=torch.Generator().manual_seed(0))
    for t in range(20):
        score = mean + 0.5 * Normal(seeds, "thompson", (1, 4)).at(t) * std.abs()
        assert torch.equal(thompson.choose(mean, std.abs(), thompson.noise()), score.argmax(-1))
        clock.advance()
    only = torch.tensor([False, True, False, False])
    assert (thompson.choose(mean, std.abs(), thompson.noise(), only) == 1).all()
