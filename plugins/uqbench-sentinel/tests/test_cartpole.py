"""CartPole for lanes against Gymnasium's CartPole-v0, bit for bit."""

from __future__ import annotations

import io
import warnings

import gymnasium
import numpy as np
import pytest
import torch
from uqbench_sentinel.cartpole import CartPoleConfig, CartPoleLanes

from uqbench.environment import TimeLimit
from uqbench.errors import UqbenchError

SEEDS = [3, 0, 2**63, 12345, 7]


def package(seed: int) -> gymnasium.Env:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that v1 exists
        env = gymnasium.make("CartPole-v0")
    env.reset(seed=seed)
    return env


def steadying(obs: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Half of the lanes keep the pole up, so that episodes reach their limit."""
    good = (obs[:, 2] + 0.3 * obs[:, 3] + 0.02 * obs[:, 0] + 0.1 * obs[:, 1] > 0).long()
    random = (u < 0.5).long()
    return torch.where(torch.arange(len(obs)) % 2 == 0, good, random)


def test_every_lane_is_the_package_bit_for_bit() -> None:
    """Observations, rewards, endings and resets of 1,500 steps; falls and limits both occur."""
    lanes = CartPoleLanes(CartPoleConfig(), SEEDS, TimeLimit(200, "truncation"))
    envs = [package(seed) for seed in SEEDS]
    obs, _ = lanes.reset()
    first = [env.reset(seed=seed)[0] for env, seed in zip(envs, SEEDS, strict=True)]
    assert np.array_equal(obs.numpy(), np.stack(first))
    generator = torch.Generator().manual_seed(0)
    falls = limits = 0
    for _ in range(1_500):
        action = steadying(obs, torch.rand(len(SEEDS), generator=generator))
        outcome = lanes.step(action)
        for lane, env in enumerate(envs):
            expected, reward, terminated, truncated, _ = env.step(int(action[lane]))
            assert np.array_equal(outcome.next_obs[lane].numpy(), expected)
            assert outcome.reward[lane] == reward
            assert outcome.terminated[lane] == terminated
            assert outcome.truncated[lane] == (truncated and not terminated)
            assert outcome.events["falls"][lane] == terminated
            if terminated or truncated:
                expected, _ = env.reset()
            assert np.array_equal(outcome.obs[lane].numpy(), expected)
            falls, limits = falls + terminated, limits + truncated
        obs = outcome.obs
    assert falls > 50
    assert limits > 5


def test_a_time_limit_may_be_terminal_and_is_no_fall() -> None:
    lanes = CartPoleLanes(CartPoleConfig(), [0, 1], TimeLimit(5, "terminal"))
    lanes.reset()
    outcomes = [lanes.step(torch.tensor([t % 2, t % 2])) for t in range(5)]
    assert outcomes[-1].terminated.all()
    assert not any(outcome.truncated.any() for outcome in outcomes)
    assert not outcomes[-1].events["falls"].any()
    assert not outcomes[-2].terminated.any()


def test_a_fall_on_the_last_step_is_a_fall() -> None:
    for limit in (9, 10, 11):
        lanes = CartPoleLanes(CartPoleConfig(), [0], TimeLimit(limit, "truncation"))
        lanes.reset()
        outcomes = [lanes.step(torch.tensor([1])) for _ in range(limit)]
        fell = [bool(o.events["falls"]) for o in outcomes]
        assert fell == [bool(o.terminated) for o in outcomes]
        assert sum(fell) + bool(outcomes[-1].truncated) <= 1
    unlimited = CartPoleLanes(CartPoleConfig(), [0])
    unlimited.reset()
    length = next(n for n in range(1, 50) if unlimited.step(torch.tensor([1])).terminated.item())
    lanes = CartPoleLanes(CartPoleConfig(), [0], TimeLimit(length, "truncation"))
    lanes.reset()
    last = [lanes.step(torch.tensor([1])) for _ in range(length)][-1]
    assert last.terminated.item()
    assert not last.truncated.item()
    assert last.events["falls"].item() == 1


def test_the_observation_space_is_the_packages() -> None:
    assert CartPoleLanes(CartPoleConfig(), [0]).observation_space == package(0).observation_space


def test_it_goes_on_from_what_was_saved() -> None:
    env = CartPoleLanes(CartPoleConfig(), [3, 9], TimeLimit(200, "terminal"))
    obs, _ = env.reset()
    generator = torch.Generator().manual_seed(1)
    for _ in range(77):
        obs = env.step(steadying(obs, torch.rand(2, generator=generator))).obs
    file = io.BytesIO()
    torch.save(env.state_dict(), file)
    file.seek(0)
    other = CartPoleLanes(CartPoleConfig(), [3, 9], TimeLimit(200, "terminal"))
    other.load_state_dict(torch.load(file, weights_only=True))
    for _ in range(300):
        action = steadying(obs, torch.rand(2, generator=generator))
        given, expected = other.step(action), env.step(action)
        obs = expected.obs
        assert torch.equal(given.obs, obs)
        assert torch.equal(given.terminated, expected.terminated)


def test_an_action_that_does_not_exist_is_refused() -> None:
    env = CartPoleLanes(CartPoleConfig(), [3])
    env.reset()
    with pytest.raises(UqbenchError, match="expected actions 0 or 1"):
        env.step(torch.tensor([2]))
