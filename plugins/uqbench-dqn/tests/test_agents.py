"""Captured and compiled steps are the steps that run from Python."""

from __future__ import annotations

from collections.abc import Sequence
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


def make(kind: type[DeepQ], seeds: Sequence[int] = SEEDS) -> DeepQ:
    config = (QRDQNConfig if kind is QRDQN else DQNConfig)(**SHORT | SMALL)
    spec = EnvSpec(Whirl.observation_space, Whirl.n_actions, discount=0.9, total_steps=10_000)
    return kind(spec, seeds, config, torch.device("cpu"))


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
    """From the same state, update by update: losses, Adam's moments and what it is acted on.

    Of the parameters only that a step is as long: where a gradient is zero but for rounding, Adam's
    first steps have the sign of that.
    """
    eager, compiled = make(kind), make(kind)
    compile_agent(compiled)
    run(eager, len(SEEDS), 39, captured=False)
    index = torch.arange(32).repeat(len(SEEDS), 1)
    for _ in range(5):
        compiled.load_state_dict(eager.state_dict())
        losses = [agent.learn(index) for agent in (eager, compiled)]
        torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6)
        states = [agent.optimiser.state_dict() for agent in (eager, compiled)]
        assert states[0]["step"] == states[1]["step"] > 0
        torch.testing.assert_close(states[1]["means"], states[0]["means"], rtol=1e-4, atol=1e-7)
        torch.testing.assert_close(states[1]["squares"], states[0]["squares"], rtol=1e-4, atol=1e-9)
        learned = (list(agent.learned.parameters()) for agent in (eager, compiled))
        for one, other in zip(*learned, strict=True):
            torch.testing.assert_close(other, one, rtol=0, atol=2.1 * eager.config.learning_rate)
        obs, u = torch.rand(len(SEEDS), *Whirl.SHAPE) < 0.1, torch.ones(len(SEEDS), 2)
        compiled.load_state_dict(eager.state_dict())
        assert torch.equal(compiled.choose(obs, u, None), eager.choose(obs, u, None))


@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_a_compiled_lane_does_the_same_alone_and_among_others_bit_for_bit(
    kind: type[DeepQ],
) -> None:
    alone, among = make(kind, seeds=[5]), make(kind, seeds=[3, 5, 8])
    for agent in (alone, among):
        torch.compiler.reset()
        compile_agent(agent)
        run(agent, len(agent.replay._lane), 90, captured=False, first=5 if agent is alone else 4)
    for one, three in zip(alone.learned.parameters(), among.learned.parameters(), strict=True):
        assert torch.equal(three[1], one[0])
    assert torch.equal(alone.metrics()["loss"][0], among.metrics()["loss"][1])


PINNED = {DQN: (0.0744879, 0.0461162), QRDQN: (11.8362, 0.0098250)}


@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_a_short_run_ends_with_the_numbers_that_it_always_had(kind: type[DeepQ]) -> None:
    """Whoever changes these numbers has changed the algorithm, not its speed."""
    agent = make(kind)
    run(agent, len(SEEDS), 120, captured=False)
    loss, mean = agent.metrics()["loss"][0].item(), mean_value(agent)
    assert (loss, mean) == pytest.approx(PINNED[kind], rel=1e-3, abs=1e-5)


def mean_value(agent: DeepQ) -> float:
    """The mean Q-value of the stored observations, of lane 0."""
    stored = agent.replay.gather(torch.arange(100).repeat(len(SEEDS), 1))
    stated = agent.uncertainty(stored["obs"])
    assert stated is not None
    assert stated.mean is not None
    return float(stated.mean[0].mean())
