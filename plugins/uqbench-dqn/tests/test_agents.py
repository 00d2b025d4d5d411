"""What all agents of the family do: alone and among others, resumed, captured, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from uqbench_dqn.bootstrapped import BootstrappedDQN
from uqbench_dqn.c51 import C51
from uqbench_dqn.config import (
    BootstrappedDQNConfig,
    C51Config,
    DQNConfig,
    QRDQNConfig,
    RandomizedPriorConfig,
    RNDConfig,
    VDQNConfig,
)
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.dqn import DQN
from uqbench_dqn.qr_dqn import QRDQN
from uqbench_dqn.randomized_prior import RandomizedPriorDQN
from uqbench_dqn.rnd import RND
from uqbench_dqn.vdqn import VDQN

from uqbench.risk import CVaR, MarginalRisk, MeanStd
from uqbench.runner.train.compiling import compile_agent
from uqbench.testing.capture import simulated
from uqbench.testing.conformance.agent_runs import AgentSubject
from uqbench.testing.results import results
from uqbench.testing.same_bits import train
from uqbench.testing.worlds import RotatingPixels

SEEDS = [3, 5]
SHORT = {
    "learning_starts": 40,
    "target_sync_period": 45,
    "epsilon_decay_steps": 200,
    "replay_capacity": 150,
}
SMALL = {"hidden": (16,), "channels": 4}
MEAN_AND_STD = MarginalRisk(MeanStd(0.5))
CPU = torch.device("cpu")
SLOW = {
    *("agent-compiles", "agent-hash-seed", "agent-new-process"),
    *("uncertainty-values", "uncertainty-scale"),
}
"""Checks that `uqbench plugin check` makes of what is registered."""
ODD = {"hidden": (9, 7), "batch_size": 6, "samples": 4}  # no multiples of a vector
TRIANGULAR = {"schedule": "triangular", "updates_per_event": 3, "target_sync_updates": 2}


def make(kind: type[DeepQ], seeds: Sequence[int] = SEEDS) -> DeepQ:
    config = QRDQNConfig(gain=3.0, **SHORT | SMALL) if kind is QRDQN else DQNConfig(**SHORT | SMALL)
    return kind(RotatingPixels.info(), seeds, config, torch.device("cpu"))


FAMILY: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "dqn": (DQN, DQNConfig, SMALL),
    "qr-dqn": (QRDQN, QRDQNConfig, SMALL | {"quantiles": 7}),
    "bootstrapped-dqn": (BootstrappedDQN, BootstrappedDQNConfig, SMALL | {"heads": 4}),
    "bootstrapped-masks": (
        BootstrappedDQN,
        BootstrappedDQNConfig,
        SMALL | {"heads": 4, "mask_probability": 0.5},
    ),
    "randomized-prior-dqn": (RandomizedPriorDQN, RandomizedPriorConfig, SMALL | {"heads": 3}),
    "rnd-dqn": (RND, RNDConfig, SMALL),
    "c51": (C51, C51Config, SMALL | {"atoms": 11}),
    "c51-risk": (C51, C51Config, SMALL | {"atoms": 11, "risk": MEAN_AND_STD}),
    "vdqn": (VDQN, VDQNConfig, ODD),
    "vdqn-cvar": (VDQN, VDQNConfig, ODD | {"risk": MarginalRisk(CVaR(0.25))}),
    "vdqn-triangular": (VDQN, VDQNConfig, ODD | TRIANGULAR),
    "vdqn-epsilon": (VDQN, VDQNConfig, ODD | {"exploration": "epsilon-greedy"}),
}


VARIANTS = {*FAMILY} - {"dqn", "bootstrapped-masks", "c51", "vdqn-triangular"}
"""They share nearly all of their code with another kind: `tox -e long` checks them."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in VARIANTS else ()) for name in FAMILY],
)
def test_it_conforms(name: str) -> None:
    """The start of learning, synced targets, new blocks of draws, a buffer that is overwritten."""
    kind, config, settings = FAMILY[name]

    subject = AgentSubject(name=name, factory=kind, config=config(**SHORT | settings), steps=260)
    made = results([subject], without=SLOW)
    assert sum(result.status == "passed" for result in made) > 10
    assert not [str(result) for result in made if not result.ok]


def test_a_number_of_the_host_in_a_step_shows_in_the_capture() -> None:
    class Baked(DQN):
        def bellman_target(self, batch: Any) -> Tensor:
            return super().bellman_target(batch) + self.clock.t

    plain, captured = make(Baked), make(Baked)
    list(train(plain, RotatingPixels(len(SEEDS)), 60))
    list(train(captured, RotatingPixels(len(SEEDS)), 60, simulated))
    assert not torch.equal(plain.metrics()["loss"], captured.metrics()["loss"])


@pytest.mark.long  # UA-DQN's traces stay
@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_compiled_updates_agree_with_eager_ones(kind: type[DeepQ]) -> None:
    """From the same state, update by update: losses, Adam's moments and what it is acted on.

    Of the parameters only that a step is as long: where a gradient is zero but for rounding, Adam's
    first steps have the sign of that.
    """
    eager, compiled = make(kind), make(kind)
    compile_agent(compiled)
    list(train(eager, RotatingPixels(len(SEEDS)), 39))
    index = torch.arange(32).repeat(len(SEEDS), 1)
    for _ in range(5):
        compiled.load_state_dict(eager.state_dict())
        losses = [agent.learn(index) for agent in (eager, compiled)]
        torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-6)
        states = [agent.optimizer.state_dict() for agent in (eager, compiled)]
        assert states[0]["step"] == states[1]["step"] > 0
        torch.testing.assert_close(states[1]["means"], states[0]["means"], rtol=1e-4, atol=1e-7)
        torch.testing.assert_close(states[1]["squares"], states[0]["squares"], rtol=1e-4, atol=1e-9)
        learned = (agent.optimizer.parameters for agent in (eager, compiled))
        for one, other in zip(*learned, strict=True):
            torch.testing.assert_close(other, one, rtol=0, atol=2.1 * eager.config.learning_rate)
        obs = torch.rand(len(SEEDS), 1, *RotatingPixels.SHAPE) < 0.1
        u = torch.ones(len(SEEDS), 1, 2)
        compiled.load_state_dict(eager.state_dict())
        assert torch.equal(compiled.choose_action(obs, u, None), eager.choose_action(obs, u, None))


@pytest.mark.long
@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_a_compiled_lane_does_the_same_alone_and_among_others_bit_for_bit(
    kind: type[DeepQ],
) -> None:
    alone, among = make(kind, seeds=[5]), make(kind, seeds=[3, 5, 8])
    for agent in (alone, among):
        torch.compiler.reset()
        compile_agent(agent)
        first = 5 if agent is alone else 4
        list(train(agent, RotatingPixels(len(agent.replay._lane), first), 90))
    for one, three in zip(alone.optimizer.parameters, among.optimizer.parameters, strict=True):
        assert torch.equal(three[1], one[0])
    assert torch.equal(alone.metrics()["loss"][0], among.metrics()["loss"][1])


PINNED = {DQN: (0.0744879, 0.0461162), QRDQN: (11.8362, 0.0098250)}


@pytest.mark.parametrize("kind", [DQN, QRDQN])
def test_a_short_run_ends_with_the_numbers_that_it_always_had(kind: type[DeepQ]) -> None:
    """Whoever changes these numbers has changed the algorithm, not its speed."""
    agent = make(kind)
    list(train(agent, RotatingPixels(len(SEEDS)), 120))
    loss, mean = agent.metrics()["loss"][0].item(), mean_value(agent)
    assert (loss, mean) == pytest.approx(PINNED[kind], rel=1e-3, abs=1e-5)


def mean_value(agent: DeepQ) -> float:
    """The mean Q-value of the stored observations, of lane 0."""
    stored = agent.replay.gather(torch.arange(100).repeat(len(SEEDS), 1))
    predicted = agent.uncertainty(stored["obs"])
    assert predicted is not None
    assert predicted.mean is not None
    return float(predicted.mean[0].mean())
