"""Architectures."""

from __future__ import annotations

import torch
from torch.nn import functional as F
from uqbench_predictive.networks.architectures import LeNet, Mlp, initial_weights

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
