"""Captured and compiled steps are the steps that run from Python."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves
from uqbench_uadqn.agent import UADQN
from uqbench_uadqn.config import UADQNConfig

from uqbench.agent import EnvSpec
from uqbench.runner.numerics import compile_agent
from uqbench.testing.capture import Whirl, run


def make(seeds: Sequence[int] = (3, 5)) -> UADQN:
    config = UADQNConfig(
        replay_start=40, target_period=45, replay_capacity=150, hidden=(16,), channels=4
    )
    spec = EnvSpec(Whirl.observation_space, Whirl.n_actions, discount=0.9, total_steps=10_000)
    return UADQN(spec, seeds, config, torch.device("cpu"))


def test_captured_steps_are_those_from_python_bit_for_bit() -> None:
    plain, captured = make(), make()
    run(plain, 2, 200, captured=False)
    run(captured, 2, 200, captured=True)
    for one, other in zip(
        tree_leaves((plain.state_dict(), dict(plain.metrics()))),
        tree_leaves((captured.state_dict(), dict(captured.metrics()))),
        strict=True,
    ):
        assert torch.equal(one, other) if isinstance(one, Tensor) else one == other


def test_compiled_updates_agree_with_eager_ones() -> None:
    eager, compiled = make(), make()
    run(eager, 2, 39, captured=False)
    compile_agent(compiled)
    compiled.load_state_dict(eager.state_dict())
    index = torch.arange(32).repeat(2, 1)
    losses = [agent.learn(index) for agent in (eager, compiled)]
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6)
    states = [agent.optimiser.state_dict() for agent in (eager, compiled)]
    torch.testing.assert_close(states[1]["means"], states[0]["means"], rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(states[1]["squares"], states[0]["squares"], rtol=1e-4, atol=1e-9)
    compiled.load_state_dict(eager.state_dict())
    obs, noise = torch.rand(2, *Whirl.SHAPE) < 0.1, torch.randn(2, Whirl.n_actions)
    assert torch.equal(compiled.choose(obs, noise, None), eager.choose(obs, noise, None))


def test_a_compiled_lane_does_the_same_alone_and_among_others_bit_for_bit() -> None:
    alone, among = make([5]), make([3, 5, 8])
    for agent, lanes, first in ((alone, 1, 5), (among, 3, 4)):
        torch.compiler.reset()
        compile_agent(agent)
        run(agent, lanes, 90, captured=False, first=first)
    for one, three in zip(alone.learned.parameters(), among.learned.parameters(), strict=True):
        assert torch.equal(three[1], one[0])
    assert torch.equal(alone.metrics()["loss"][0], among.metrics()["loss"][1])


def test_a_short_run_ends_with_the_numbers_that_it_always_had() -> None:
    """Whoever changes these numbers has changed the algorithm, not its speed."""
    agent = make()
    run(agent, 2, 120, captured=False)
    stored = agent.replay.gather(torch.arange(100).repeat(2, 1))
    stated = agent.uncertainty(stored["obs"])
    found = [agent.metrics()["loss"][0], stated.mean[0].mean(), stated.epistemic_var[0].mean()]
    pinned = [28.8393, 0.0036157, 0.121186]
    assert [value.item() for value in found] == pytest.approx(pinned, rel=1e-3)
