"""Settings of the family that are refused, and what agents believe before any data."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from gymnasium import spaces
from uqbench_dqn import config as of
from uqbench_dqn.bootstrapped import BootstrappedDQN
from uqbench_dqn.c51 import C51
from uqbench_dqn.dqn import DQN
from uqbench_dqn.qr_dqn import QRDQN
from uqbench_dqn.vdqn import VDQN

from uqbench.agent import EnvironmentInfo, Uncertainty

INFO = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
SUPPORT = of.C51Config(atoms=11, v_min=-2.0, v_max=10.0)


OBS = torch.rand(2, 7, 5, generator=torch.Generator().manual_seed(0)) * 2 - 1


def made(kind: Any, config: Any, hidden: tuple[int, ...] = (9, 7), info: Any = INFO) -> Any:
    return kind(info, [5, 2], replace(config, hidden=hidden), torch.device("cpu"))


def stated(kind: Any, config: Any) -> Uncertainty:
    return made(kind, config).uncertainty(OBS)


AT_ZERO = [
    (DQN, of.DQNConfig()),
    (QRDQN, of.QRDQNConfig()),
    (BootstrappedDQN, of.BootstrappedDQNConfig()),
]


@pytest.mark.parametrize(("kind", "config"), AT_ZERO)
def test_an_output_layer_that_starts_at_zero_says_zero(kind: Any, config: Any) -> None:
    assert stated(kind, config).mean.abs().max() > 0.01
    started = stated(kind, replace(config, start="zero"))
    torch.testing.assert_close(started.mean, torch.zeros(2, 7, 3), atol=1e-6, rtol=0)
    if started.return_atoms is not None:  # a law of some width: equal quantiles do not learn
        assert started.return_atoms.diff(dim=-1).amin().item() == pytest.approx(0.0502, abs=1e-3)


@pytest.mark.parametrize(("kind", "config"), [*AT_ZERO, (C51, SUPPORT)])
def test_hidden_units_that_cancel_say_what_weights_of_zero_do_and_layers_below_learn(kind, config):
    outputs = {}
    for start, moves in (("paired", True), ("zero", False)):
        network = made(kind, replace(config, start=start), (9, 8)).online
        outputs[start] = network(OBS)
        loss = (outputs[start] * torch.rand_like(outputs[start])).sum()
        (gradient,) = torch.autograd.grad(loss, network.layers[-2].weight)
        assert bool(gradient.abs().max() > 1e-3) == moves
    torch.testing.assert_close(outputs["paired"], outputs["zero"], atol=1e-5, rtol=0)


def test_a_categorical_law_starts_at_its_atom_nearest_to_zero():
    """A share of .999 lies at the third atom, .4; the other ten have a mean of 4.36."""
    predicted = stated(C51, replace(SUPPORT, start="zero"))
    torch.testing.assert_close(predicted.return_probs[..., 2], torch.full((2, 7, 3), 0.999))
    expected = 0.999 * 0.4 + 0.001 * (11 * 4.0 - 0.4) / 10
    torch.testing.assert_close(predicted.mean, torch.full((2, 7, 3), expected))


IMAGES = {"kind": DQN, "info": EnvironmentInfo(spaces.Box(0, 1, (4, 10, 10)), 3, 0.99, 100)}
THREE, TWO = (of.DQNConfig(channels=(8, 6), kernel=kernel) for kernel in ((3, 3, 3), (8, 4)))
REFUSED = [
    (of.RNDConfig, {"bonus": -1.0}, "bonus >= 0 and features >= 1, got -1.0 and 16"),
    (of.BootstrappedDQNConfig, {"heads": 1}, "at least 2 heads, got 1"),
    (of.BootstrappedDQNConfig, {"mask_probability": 0.0}, r"must be in \(0, 1\], got 0"),
    (of.BootstrappedDQNConfig, {"noise_std": -1.0}, "noise_std must not be negative"),
    (of.RandomizedPriorConfig, {"prior_scale": 0.0}, "it is the agent bootstrapped-dqn"),
    (of.C51Config, {"v_min": 2.0, "v_max": 1.0}, "v_min < v_max"),
    (of.VDQNConfig, {"likelihood_std": 0.0}, "likelihood_std must be positive"),
    (of.VDQNConfig, {"samples": 1}, "at least 2 samples"),
    (made, {"kind": DQN, "config": of.DQNConfig(start="paired")}, "even .* the last hidden layer"),
    (made, {"kind": VDQN, "config": of.VDQNConfig(start="zero")}, "VDQN has no start = 'zero'"),
    (made, IMAGES | {"config": THREE}, "same number of convolutions"),
    (made, IMAGES | {"config": TWO}, "a kernel of 4 does not fit"),
]


@pytest.mark.parametrize(("kind", "settings", "message"), REFUSED)
def test_a_setting_that_makes_no_sense_is_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**settings)
