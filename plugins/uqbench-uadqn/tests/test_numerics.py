"""Captured and compiled steps are the steps that run from Python."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from torch.utils._pytree import tree_leaves
from uqbench_uadqn.agent import UADQN
from uqbench_uadqn.config import UADQNConfig

from uqbench.agent import EnvSpec, Step
from uqbench.runner.train.compiling import compile_agent
from uqbench.testing.capture import Whirl, run


def make(seeds: Sequence[int] = (3, 5)) -> UADQN:
    config = UADQNConfig(
        replay_start=40, target_period=45, replay_capacity=150, hidden=(16,), channels=4
    )
    spec = EnvSpec(Whirl.observation_space, Whirl.n_actions, discount=0.9, total_steps=10_000)
    return UADQN(spec, seeds, config, torch.device("cpu"))


def test_captured_steps_are_those_from_python_bit_for_bit() -> None:
    plain, captured = make(), make()
    run(plain, 2, 160, captured=False)
    run(captured, 2, 160, captured=True)
    for one, other in zip(
        tree_leaves((plain.state_dict(), dict(plain.metrics()))),
        tree_leaves((captured.state_dict(), dict(captured.metrics()))),
        strict=True,
    ):
        assert torch.equal(one, other) if isinstance(one, Tensor) else one == other


def filled() -> UADQN:
    """On vectors, so that there is less to compile, with 40 transitions."""
    config = UADQNConfig(replay_start=1_000, hidden=(16,), quantiles=10)
    spec = EnvSpec(spaces.Box(-1, 1, (3,)), 4, discount=0.9, total_steps=10_000)
    agent = UADQN(spec, [3, 5], config, torch.device("cpu"))
    generator = torch.Generator().manual_seed(0)
    for t in range(40):
        obs, next_obs = torch.randn(2, 2, 3, generator=generator)
        action = torch.randint(4, (2,), generator=generator)
        reward = torch.randn(2, generator=generator)
        agent.observe(Step(t, obs, action, reward, reward > 1, reward < -1, next_obs))
    return agent


def test_compiled_updates_agree_with_eager_ones() -> None:
    eager, compiled = filled(), filled()
    compile_agent(compiled)  # what is not called is not compiled: only ``learn`` is
    index = torch.arange(32).repeat(2, 1)
    losses = [agent.learn(index) for agent in (eager, compiled)]
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6)
    states = [agent.optimiser.state_dict() for agent in (eager, compiled)]
    torch.testing.assert_close(states[1]["means"], states[0]["means"], rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(states[1]["squares"], states[0]["squares"], rtol=1e-4, atol=1e-9)


def test_a_short_run_ends_with_the_numbers_that_it_always_had() -> None:
    """Whoever changes these numbers has changed the algorithm, not its speed."""
    agent = make()
    run(agent, 2, 120, captured=False)
    stored = agent.replay.gather(torch.arange(100).repeat(2, 1))
    stated = agent.uncertainty(stored["obs"])
    found = [agent.metrics()["loss"][0], stated.mean[0].mean(), stated.epistemic_var[0].mean()]
    pinned = [28.8393, 0.0036157, 0.121186]
    assert [value.item() for value in found] == pytest.approx(pinned, rel=1e-3)
