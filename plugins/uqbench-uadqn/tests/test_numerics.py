"""Captured and compiled steps are the steps that run from Python."""

from __future__ import annotations

from collections.abc import Sequence

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
    run(plain, 2, 280, captured=False)
    run(captured, 2, 280, captured=True)
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
    losses = [agent.objective_of(index) for agent in (eager, compiled)]
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6)
    gradients = [
        torch.autograd.grad(loss.sum(), agent.optimiser.parameters)
        for loss, agent in zip(losses, (eager, compiled), strict=True)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-6)
    obs = torch.rand(2, *Whirl.SHAPE) < 0.1
    noise = torch.randn(2, Whirl.n_actions)
    for one, other in zip(eager.scores(obs, noise), compiled.scores(obs, noise), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-5)
