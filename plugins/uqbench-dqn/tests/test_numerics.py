"""Captured and compiled steps are the steps that run from Python."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves
from uqbench_dqn.config import DQNConfig, QRDQNConfig
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.dqn import DQN
from uqbench_dqn.qr_dqn import QRDQN

from uqbench.agent import EnvSpec
from uqbench.runner.numerics import compile_agent
from uqbench.testing.capture import Whirl, run

SEEDS = [3, 5]
SHORT = {"replay_start": 40, "target_period": 45, "epsilon_steps": 200, "replay_capacity": 150}
SMALL = {"hidden": (16,), "channels": 4}


def make(kind: type[DeepQ], **settings: Any) -> DeepQ:
    config = (QRDQNConfig if kind is QRDQN else DQNConfig)(**SHORT | SMALL | settings)
    spec = EnvSpec(Whirl.observation_space, Whirl.n_actions, discount=0.9, total_steps=10_000)
    return kind(spec, SEEDS, config, torch.device("cpu"))


def leaves(agent: DeepQ) -> list[Any]:
    found: list[Any] = tree_leaves((agent.state_dict(), dict(agent.metrics())))
    return found


def same(one: Any, other: Any) -> bool:
    return torch.equal(one, other) if isinstance(one, Tensor) else bool(one == other)


@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_captured_steps_are_those_from_python_bit_for_bit(kind: type[DeepQ]) -> None:
    """Over the start of learning, renewed targets, new blocks of draws and a ring gone round."""
    plain, captured = make(kind), make(kind)
    run(plain, len(SEEDS), 260, captured=False)
    run(captured, len(SEEDS), 260, captured=True)
    pairs = zip(leaves(plain), leaves(captured), strict=True)
    assert [i for i, (one, other) in enumerate(pairs) if not same(one, other)] == []


def test_a_number_of_the_host_in_a_step_shows_in_the_capture() -> None:
    class Baked(DQN):
        def bellman_target(self, batch: Any) -> Tensor:
            return super().bellman_target(batch) + self.clock.t

    plain, captured = make(Baked), make(Baked)
    run(plain, len(SEEDS), 60, captured=False)
    run(captured, len(SEEDS), 60, captured=True)
    assert not torch.equal(plain.metrics()["loss"], captured.metrics()["loss"])


@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_compiled_updates_agree_with_eager_ones(kind: type[DeepQ]) -> None:
    """From the same state, update by update: losses and Adam's moments within float tolerance.

    Parameters are not compared after many steps: near zero gradients Adam's first steps have the
    sign of a rounding error.
    """
    eager, compiled = make(kind), make(kind)
    compile_agent(compiled)
    run(eager, len(SEEDS), 39, captured=False)
    for _ in range(5):
        compiled.load_state_dict(eager.state_dict())
        index = torch.arange(32).repeat(len(SEEDS), 1)
        losses = [agent.objective_of(index) for agent in (eager, compiled)]
        torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6)
        gradients = [
            torch.autograd.grad(loss.sum(), agent.optimiser.parameters)
            for loss, agent in zip(losses, (eager, compiled), strict=True)
        ]
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-6)
        eager.optimiser.step(gradients[0])
        obs = torch.rand(len(SEEDS), *Whirl.SHAPE) < 0.1
        torch.testing.assert_close(
            compiled.values_to_act_on(obs), make_equal(compiled, kind).values_to_act_on(obs)
        )


def make_equal(agent: DeepQ, kind: type[DeepQ]) -> DeepQ:
    twin = make(kind)
    twin.load_state_dict(agent.state_dict())
    return twin
