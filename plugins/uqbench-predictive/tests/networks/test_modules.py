"""Modules of torch as the networks of a stack."""

import sys
from types import ModuleType

import pytest
import torch
from torch import nn
from uqbench_predictive.baselines.laplace import Laplace, LaplaceConfig
from uqbench_predictive.baselines.mc_dropout import MCDropout, MCDropoutConfig
from uqbench_predictive.networks.architectures import Mlp, initial_weights
from uqbench_predictive.networks.learning import Dropout
from uqbench_predictive.networks.modules import ModuleNetwork
from uqbench_predictive.networks.training import Trainer, TrainingConfig

from uqbench.lanes import lane_generators

CPU = torch.device("cpu")
INPUTS = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(0))


def two_layers(inputs: tuple[int, ...] = (2,), outputs: int = 3) -> nn.Module:
    """A network as a user would write it, with dropout before its last layer."""
    return nn.Sequential(
        nn.Linear(inputs[0], 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, max(outputs, 1))
    )


def no_linear_layer(inputs: tuple[int, ...], outputs: int) -> nn.Module:
    return nn.Conv1d(1, 1, 3)


NAME = "users_networks:two_layers"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """The functions above in a module that can be named."""
    users = ModuleType("users_networks")
    users.two_layers, users.no_linear_layer = two_layers, no_linear_layer
    monkeypatch.setitem(sys.modules, users.__name__, users)


def as_mlp(weights):
    """The module's weights by the names and in the shapes of the built-in network."""
    return {
        "0.weight": weights["0.weight"].mT.contiguous(),
        "0.bias": weights["0.bias"].unsqueeze(1),
        **{name: weights[name] for name in ("head.weight", "head.bias")},
    }


def test_a_module_is_the_function_of_each_networks_weights():
    network = ModuleNetwork(two_layers)
    modules = [two_layers() for _ in range(3)]
    each = [network.weights_of(module) for module in modules]
    weights = {name: torch.stack([own[name] for own in each]) for name in network.shapes}
    outputs = network(weights, INPUTS)
    for module, rows, found in zip(modules, INPUTS, outputs, strict=True):
        assert torch.equal(module.eval()(rows), found)
    features = network.features(weights, INPUTS)
    by_hand = features @ weights["head.weight"] + weights["head.bias"]
    assert torch.allclose(by_hand, outputs, atol=1e-6)  # a sum of floats near zero, too
    assert network.parameters == sum(p.numel() for p in modules[0].parameters())
    dropped = network(weights, INPUTS, Dropout(0.5, lane_generators([0, 1, 2])))
    alone = network(
        {name: tensor[1:2] for name, tensor in weights.items()},
        INPUTS[1:2],
        Dropout(0.5, lane_generators([1])),
    )
    assert torch.equal(dropped[1], alone[0])
    assert not torch.allclose(dropped, outputs)


def test_a_module_is_trained_and_starts_from_its_own_initialization(toy):
    config = TrainingConfig(architecture=NAME, hidden=(8,))
    trainer = Trainer(toy().problem, [4, 5], config, CPU)
    before = torch.random.get_rng_state()
    start = initial_weights(trainer.network, lane_generators([4, 5]))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not torch.equal(start["0.weight"][0], start["0.weight"][1])
    data = toy().data([4, 5])
    trained = trainer.train(data, 40)
    logits = trainer.network(trained, data.inputs)
    assert torch.allclose(Mlp(2, (8,), 3)(as_mlp(trained), data.inputs), logits, atol=1e-6)
    assert (logits.argmax(-1) == data.targets).double().mean() > 0.6


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (Laplace, LaplaceConfig(samples=20, architecture=NAME)),
        (MCDropout, MCDropoutConfig(passes=20, architecture=NAME)),
    ],
)
def test_estimators_take_a_module_and_a_lane_is_the_same_alone_and_among_others(
    kind, config, toy, predict
):
    alone = predict(kind, config, toy(), [7])
    group = predict(kind, config, toy(), [5, 7])
    assert torch.equal(alone.epistemic[0], group.epistemic[1])
    assert (group.epistemic > 0).any()


def test_errors_say_what_an_architecture_must_be(toy):
    for name, message in (
        ("absent_package:make", "expected 'mlp', 'lenet' or 'package.module:function'"),
        ("resnet", "expected 'mlp', 'lenet' or 'package.module:function'"),
    ):
        with pytest.raises(ValueError, match=message):
            _ = Trainer(toy().problem, [0], TrainingConfig(architecture=name), CPU).network
    config = TrainingConfig(architecture="users_networks:no_linear_layer")
    with pytest.raises(TypeError, match=r"last torch\.nn\.Linear has a bias"):
        _ = Trainer(toy().problem, [0], config, CPU).network
