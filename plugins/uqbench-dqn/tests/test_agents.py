"""What all agents of the family do: alone and among others, resumed, captured, compiled."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from uqbench_dqn import config
from uqbench_dqn.bootstrapped import BootstrappedDQN
from uqbench_dqn.c51 import C51
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.dqn import DQN
from uqbench_dqn.qr_dqn import QRDQN
from uqbench_dqn.randomized_prior import RandomizedPriorDQN
from uqbench_dqn.rnd import RND
from uqbench_dqn.vdqn import VDQN

from uqbench.risk import CVaR, MarginalRisk, MeanStd
from uqbench.runner.train.compiling import Graph, compile_agent
from uqbench.testing.same_bits import compare_captured, difference, train
from uqbench.testing.worlds import RotatingPixels

SHORT = {
    "learning_starts": 40, "target_sync_period": 45, "epsilon_decay_steps": 200,
    "replay_capacity": 150}  # fmt: skip
SMALL = {"hidden": (16,), "channels": 4}
MEAN_AND_STD = MarginalRisk(MeanStd(0.5))
CPU = torch.device("cpu")
THREE = {"heads": 3}
MASKS = {"heads": 4, "mask_probability": 0.5}
ODD = {"hidden": (9, 7), "batch_size": 6, "samples": 4}  # no multiples of a vector
TRIANGULAR = {"schedule": "triangular", "updates_per_event": 3, "target_sync_updates": 2}

FAMILY: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "dqn": (DQN, config.DQNConfig, SMALL),
    "qr-dqn": (QRDQN, config.QRDQNConfig, SMALL | {"quantiles": 7}),
    "bootstrapped-dqn": (BootstrappedDQN, config.BootstrappedDQNConfig, SMALL | {"heads": 4}),
    "bootstrapped-masks": (BootstrappedDQN, config.BootstrappedDQNConfig, SMALL | MASKS),
    "randomized-prior-dqn": (RandomizedPriorDQN, config.RandomizedPriorConfig, SMALL | THREE),
    "rnd-dqn": (RND, config.RNDConfig, SMALL),
    "c51": (C51, config.C51Config, SMALL | {"atoms": 11}),
    "c51-risk": (C51, config.C51Config, SMALL | {"atoms": 11, "risk": MEAN_AND_STD}),
    "vdqn": (VDQN, config.VDQNConfig, ODD),
    "vdqn-cvar": (VDQN, config.VDQNConfig, ODD | {"risk": MarginalRisk(CVaR(0.25))}),
    "vdqn-triangular": (VDQN, config.VDQNConfig, ODD | TRIANGULAR),
    "vdqn-epsilon": (VDQN, config.VDQNConfig, ODD | {"exploration": "epsilon-greedy"}),
}


FIRST = ["dqn", "bootstrapped-masks", "c51", "vdqn-triangular"]
VARIANTS = [pytest.param(name, marks=pytest.mark.long) for name in FAMILY if name not in FIRST]
"""They share nearly all of their code with another kind: `tox -e long` checks them."""


@pytest.mark.parametrize("name", FIRST + VARIANTS)
def test_it_conforms(name, conforms):
    """The start of learning, synced targets, new blocks of draws, a buffer that is overwritten."""
    kind, settings, changed = FAMILY[name]
    conforms(kind, settings(**SHORT | changed), steps=260)


@pytest.mark.long
@pytest.mark.parametrize("name", ["dqn", "qr-dqn"])
def test_a_compiled_lane_does_the_same_alone_and_among_others_bit_for_bit(name):
    kind, settings, changed = FAMILY[name]
    agents = []
    for first, seeds in ((5, [5]), (4, [3, 5, 8])):
        agents.append(kind(RotatingPixels.info(), seeds, settings(**SHORT | changed), CPU))
        torch.compiler.reset()
        compile_agent(agents[-1])
        list(train(agents[-1], RotatingPixels(len(seeds), first), 90))
    alone, among = agents
    for one, three in zip(alone.optimizer.parameters, among.optimizer.parameters, strict=True):
        assert torch.equal(three[1], one[0])
    assert torch.equal(alone.metrics()["loss"][0], among.metrics()["loss"][1])


def test_a_capture_that_forgets_its_steps_is_found():
    def forgets(step: Callable[[], None]) -> Graph:
        step()
        return lambda: None

    def make() -> tuple[DQN, RotatingPixels]:
        config = DQNConfig(batch_size=4, learning_starts=1, hidden=(8,))
        return DQN(RotatingPixels.info(), range(3), config, torch.device("cpu")), RotatingPixels(3)

    assert compare_captured(make, 40, forgets).where.startswith("state")


DIFFERENCES = [
    ({"a": torch.ones(2)}, {"a": torch.tensor([1.0, 1.5])}, "x['a']"),
    ({"a": torch.ones(2)}, {"a": torch.ones(2).double()}, "x['a']"),
    ({"a": torch.ones(2)}, {"a": torch.ones(3)}, "x['a']"),
    ({"a": 1}, {"a": 2}, "x['a']"),
    ({"a": 1}, {"b": 1}, "x: other parts"),
    ({"a": torch.tensor([torch.nan])}, {"a": torch.zeros(1)}, "x['a']"),
]


@pytest.mark.parametrize(("one", "other", "where"), DIFFERENCES)
def test_the_first_difference_is_named(one, other, where):
    assert difference(one, other, "x").where == where
    assert difference(one, one, "x") is None
