"""Architectures."""

import pytest
import torch
from torch.nn import functional as F
from uqbench_predictive.networks.architectures import (
    BOUND,
    LENGTH,
    LeNet,
    Mlp,
    SpectralGP,
    initial_weights,
)

from uqbench.lanes import lane_generators


def test_parameter_counts_are_the_papers():
    assert LeNet(10).parameters == 44_426
    assert Mlp(2, (10, 10), 3).parameters == 173
    assert Mlp(1, (200, 200, 200), 1).parameters == 81_001


def test_lenet_is_torchs_lenet():
    network = LeNet(10)
    weights = initial_weights(network, lane_generators([3]), members=2)
    images = torch.randn(2, 5, 28, 28, generator=torch.Generator().manual_seed(0))
    for member in range(2):
        w = {name: tensor[member] for name, tensor in weights.items()}
        x = images[member].unsqueeze(1)
        depth = 1
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
    exact = (-0.5 * torch.cdist(x[0], x[0]).square() / LENGTH**2).exp()
    assert (features @ features.T - exact).abs().max() < 0.3  # 256 features: sd up to 0.06 each
    assert (features @ features.T - exact).abs().mean() < 0.06


def test_hidden_layers_of_sngp_bring_inputs_neither_together_nor_far_apart():
    network = SpectralGP(5, (5, 5, 5), 1)
    weights = initial_weights(network, lane_generators([0]))
    large = {name: 50 * tensor for name, tensor in weights.items()}
    bounded = dict(large)
    for name in ("1.weight", "2.weight"):
        norm = torch.linalg.matrix_norm(large[name], ord=2, keepdim=True)
        bounded[name] = large[name] * BOUND / norm
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
