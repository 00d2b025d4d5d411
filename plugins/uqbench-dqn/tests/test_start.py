"""What agents believe before any data: nothing, where their output layer starts at zero."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from gymnasium import spaces
from uqbench_dqn.bootstrapped import BootstrappedDQN
from uqbench_dqn.c51 import C51
from uqbench_dqn.config import (
    BootstrappedDQNConfig,
    C51Config,
    DQNConfig,
    QRDQNConfig,
    RandomizedPriorConfig,
    VDQNConfig,
)
from uqbench_dqn.dqn import DQN
from uqbench_dqn.qr_dqn import QRDQN
from uqbench_dqn.randomized_prior import RandomizedPriorDQN
from uqbench_dqn.vdqn import VDQN

from uqbench.agent import EnvironmentInfo, Uncertainty

INFO = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
SUPPORT = C51Config(atoms=11, v_min=-2.0, v_max=10.0)


OBS = torch.rand(2, 7, 5, generator=torch.Generator().manual_seed(0)) * 2 - 1


def made(kind: Any, config: Any, hidden: tuple[int, ...] = (9, 7)) -> Any:
    return kind(INFO, [5, 2], replace(config, hidden=hidden), torch.device("cpu"))


def stated(kind: Any, config: Any, hidden: tuple[int, ...] = (9, 7)) -> Uncertainty:
    obs, agent = OBS, made(kind, config, hidden)
    predicted = agent.uncertainty(obs)
    assert predicted is not None
    return predicted


@pytest.mark.parametrize(
    ("kind", "config"),
    [(DQN, DQNConfig()), (QRDQN, QRDQNConfig()), (BootstrappedDQN, BootstrappedDQNConfig())],
)
def test_an_output_layer_that_starts_at_zero_says_zero(kind: Any, config: Any) -> None:
    assert stated(kind, config).mean.abs().max() > 0.01
    started = stated(kind, replace(config, start="zero"))
    torch.testing.assert_close(started.mean, torch.zeros(2, 7, 3), atol=1e-6, rtol=0)
    if started.return_atoms is not None:  # a law of some width: equal quantiles do not learn
        torch.testing.assert_close(
            started.return_atoms.diff(dim=-1).amin(), torch.tensor(0.0502), atol=1e-3, rtol=0
        )


PAIRED = [
    (DQN, DQNConfig(start="paired")),
    (QRDQN, QRDQNConfig(start="paired")),
    (C51, replace(SUPPORT, start="paired")),
    (BootstrappedDQN, BootstrappedDQNConfig(start="paired")),
]


@pytest.mark.parametrize(("kind", "config"), PAIRED)
def test_hidden_units_that_cancel_say_what_weights_of_zero_do(kind: Any, config: Any) -> None:
    paired = made(kind, config, (9, 8)).online(OBS)
    torch.testing.assert_close(
        paired, made(kind, replace(config, start="zero"), (9, 8)).online(OBS), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize(("kind", "config"), PAIRED)
def test_units_that_cancel_let_the_hidden_layer_learn_from_the_first_step_on(
    kind: Any, config: Any
) -> None:
    for start, moves in (("paired", True), ("zero", False)):
        network = made(kind, replace(config, start=start), (9, 8)).online
        hidden = network.layers[-2].weight
        outputs = network(OBS)
        (gradient,) = torch.autograd.grad((outputs * torch.rand_like(outputs)).sum(), hidden)
        assert bool(gradient.abs().max() > 1e-3) == moves


def test_units_that_cancel_come_in_pairs() -> None:
    with pytest.raises(ValueError, match="even number of units in the last hidden layer"):
        made(DQN, DQNConfig(start="paired"))


def test_a_categorical_law_starts_at_its_atom_nearest_to_zero() -> None:
    """A share of .999 lies at the third atom, .4; the other ten have a mean of 4.36."""
    predicted = stated(C51, replace(SUPPORT, start="zero"))
    assert predicted.return_probs is not None
    torch.testing.assert_close(predicted.return_probs[..., 2], torch.full((2, 7, 3), 0.999))
    expected = 0.999 * 0.4 + 0.001 * (11 * 4.0 - 0.4) / 10
    torch.testing.assert_close(predicted.mean, torch.full((2, 7, 3), expected))


def test_priors_that_are_centered_prefer_actions_and_not_states() -> None:
    config = RandomizedPriorConfig(start="zero", heads=4)
    values = stated(RandomizedPriorDQN, config).value_samples
    centered = stated(RandomizedPriorDQN, replace(config, prior_center="actions")).value_samples
    assert values is not None
    assert centered is not None
    torch.testing.assert_close(centered, values - values.mean(-2, keepdim=True))
    assert centered.abs().max() > 0.1


def test_a_head_that_plays_has_the_values_of_its_column() -> None:
    config = RandomizedPriorConfig(prior_center="actions", heads=4, hidden=(9, 7))
    agent = RandomizedPriorDQN(INFO, [5, 2], config, torch.device("cpu"))
    obs = torch.rand(2, 1, 5)
    head = torch.tensor([[3], [1]])
    own = torch.stack([agent.online(obs)[0, :, :, 3], agent.online(obs)[1, :, :, 1]])
    torch.testing.assert_close(agent.online.of_heads(obs, head), own)


def test_an_agent_without_such_a_start_refuses_it() -> None:
    with pytest.raises(ValueError, match="VDQN has no start = 'zero'"):
        stated(VDQN, VDQNConfig(start="zero"))
