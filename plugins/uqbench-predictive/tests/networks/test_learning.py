"""Architectures, stacks of networks and their training; modules of torch as networks."""

import sys
from types import ModuleType

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from uqbench_predictive.networks import architectures
from uqbench_predictive.networks.architectures import LeNet, Mlp, SpectralGP, initial_weights
from uqbench_predictive.networks.learning import Dropout, Stack, batches, fit, shuffled
from uqbench_predictive.networks.modules import ModuleNetwork
from uqbench_predictive.networks.training import Trainer, TrainingConfig

from uqbench.estimator import Data
from uqbench.lanes import lane_generators

NETWORK = Mlp(2, (8, 8), 3)


def test_training_is_torchs_adam_with_its_weight_decay(problem):
    data, start = problem(), initial_weights(NETWORK, lane_generators([0]))
    ours = fit(NETWORK, start, data, 20, learning_rate=1e-2, weight_decay=0.1)
    theirs = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.no_grad():
        for parameter, tensor in zip(theirs.parameters(), start.values(), strict=True):
            parameter.copy_(tensor[0].T.view(parameter.shape))
    optimizer = torch.optim.Adam(theirs.parameters(), 1e-2, weight_decay=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        F.cross_entropy(theirs(data.inputs[0]), data.targets[0]).backward()
        optimizer.step()
    for parameter, tensor in zip(theirs.parameters(), ours.values(), strict=True):
        assert torch.allclose(tensor[0].T.reshape(parameter.shape), parameter, atol=1e-5)


def test_batches_follow_each_other_drop_an_incomplete_one_and_have_no_more_rows_than_there_are():
    data = Data(torch.arange(7.0).view(1, 7, 1), torch.zeros(1, 7, dtype=torch.long))
    stream = batches(data, 3)
    taken = [next(stream).inputs.flatten().tolist() for _ in range(3)]
    assert taken == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    for stream in (batches(data, 8), shuffled(data, 8, [torch.Generator()])):
        with pytest.raises(ValueError, match="batches of at most 7 rows"):
            next(stream)


def test_padding_of_a_stack_is_never_moved():
    stack = Stack(initial_weights(NETWORK, lane_generators([0, 1])))
    size = NETWORK.parameters
    assert stack.flat.shape[1] % 16 == 0
    stack.step(sum(t.square().sum() for t in stack.weights.values()), 1e-2, 0.1)
    assert (stack.flat[:, size:] == 0).all()
    assert stack.weights["head.bias"].flatten().equal(stack.flat[:, size - 3 : size].flatten())


def test_parameter_counts_are_the_papers():
    assert (LeNet(10).parameters, Mlp(2, (10, 10), 3).parameters) == (44_426, 173)
    assert Mlp(1, (200, 200, 200), 1).parameters == 81_001


def test_lenet_is_torchs_lenet():
    network = LeNet(10)
    weights = initial_weights(network, lane_generators([3]), members=2)
    images = torch.randn(2, 5, 28, 28, generator=torch.Generator().manual_seed(0))
    for member in range(2):
        w = {name: tensor[member] for name, tensor in weights.items()}
        x, depth = images[member].unsqueeze(1), 1
        for name, channels in (("0", 6), ("1", 16)):
            kernel = w[f"{name}.weight"].T.reshape(channels, 5, 5, depth).movedim(-1, 1)
            x = F.max_pool2d(F.conv2d(x, kernel, w[f"{name}.bias"][0]), 2).relu()
            depth = channels
        x = x.movedim(1, -1).flatten(1)  # channels last
        for name in ("2", "3"):
            x = (x @ w[f"{name}.weight"] + w[f"{name}.bias"]).relu()
        expected = x @ w["head.weight"] + w["head.bias"]
        assert torch.allclose(network(weights, images)[member], expected, atol=1e-5)


def test_the_last_layer_of_sngp_is_a_gaussian_process_on_features():
    # without hidden layers after the first, its input is relu(W x + b): here x itself, positive
    network = SpectralGP(2, (2,), 1)
    eye = {"0.weight": torch.eye(2)[None], "0.bias": torch.zeros(1, 1, 2)}
    x = 3 * torch.rand(1, 40, 2, generator=torch.Generator().manual_seed(0))
    features = network.features(eye, x)[0]
    exact = (-0.5 * torch.cdist(x[0], x[0]).square() / architectures.LENGTH**2).exp()
    assert (features @ features.T - exact).abs().max() < 0.3  # 256 features: sd up to 0.06 each
    assert (features @ features.T - exact).abs().mean() < 0.06


def test_hidden_layers_of_sngp_bring_inputs_neither_together_nor_far_apart():
    network = SpectralGP(5, (5, 5, 5), 1)
    weights = initial_weights(network, lane_generators([0]))
    large = {name: 50 * tensor for name, tensor in weights.items()}
    bounded = dict(large)
    for name in ("1.weight", "2.weight"):
        norm = torch.linalg.matrix_norm(large[name], ord=2, keepdim=True)
        bounded[name] = large[name] * architectures.BOUND / norm
    x = torch.randn(1, 7, 5, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(network(large, x), network(bounded, x), atol=1e-4)


def test_a_network_of_sngp_does_not_depend_on_its_stack():
    network = SpectralGP(3, (8, 8), 2)
    weights = initial_weights(network, lane_generators([0, 1, 2]))
    x = torch.randn(3, 6, 3, generator=torch.Generator().manual_seed(1))
    alone = network({name: tensor[1:2] for name, tensor in weights.items()}, x[1:2])
    assert torch.equal(network(weights, x)[1:2], alone)


def test_sngp_needs_hidden_layers_of_one_width():
    with pytest.raises(ValueError, match="of one width"):
        SpectralGP(3, (8, 4), 2)


CPU = torch.device("cpu")
INPUTS = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(0))


def two_layers(inputs: tuple[int, ...] = (2,), outputs: int = 3) -> nn.Module:
    """A network as a user would write it, with dropout before its last layer."""
    last = nn.Linear(8, max(outputs, 1))
    return nn.Sequential(nn.Linear(inputs[0], 8), nn.ReLU(), nn.Dropout(0.5), last)


def no_linear_layer(inputs: tuple[int, ...], outputs: int) -> nn.Module:
    return nn.Conv1d(1, 1, 3)


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
    network, modules = ModuleNetwork(two_layers), [two_layers() for _ in range(3)]
    each = [network.weights_of(module) for module in modules]
    weights = {name: torch.stack([own[name] for own in each]) for name in network.shapes}
    outputs = network(weights, INPUTS)
    for module, rows, found in zip(modules, INPUTS, outputs, strict=True):
        assert torch.equal(module.eval()(rows), found)
    by_hand = network.features(weights, INPUTS) @ weights["head.weight"] + weights["head.bias"]
    assert torch.allclose(by_hand, outputs, atol=1e-6)  # a sum of floats near zero, too
    assert network.parameters == sum(p.numel() for p in modules[0].parameters())
    dropped = network(weights, INPUTS, Dropout(0.5, lane_generators([0, 1, 2])))
    own = {name: tensor[1:2] for name, tensor in weights.items()}
    assert torch.equal(dropped[1], network(own, INPUTS[1:2], Dropout(0.5, lane_generators([1])))[0])
    assert not torch.allclose(dropped, outputs)


def test_a_module_is_trained_and_starts_from_its_own_initialization(toy):
    config = TrainingConfig(architecture="users_networks:two_layers", hidden=(8,))
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
