"""Stacks of networks and their training."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from uqbench_predictive.networks.architectures import Mlp, initial_weights
from uqbench_predictive.networks.learning import Stack, batches, fit, shuffled

from uqbench.estimator import Data
from uqbench.lanes import lane_generators

NETWORK = Mlp(2, (8, 8), 3)


def test_training_is_torchs_adam_with_its_weight_decay(problem):
    data = problem()
    start = initial_weights(NETWORK, lane_generators([0]))
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


def test_batches_follow_each_other_and_drop_an_incomplete_one():
    data = Data(torch.arange(7.0).view(1, 7, 1), torch.zeros(1, 7, dtype=torch.long))
    stream = batches(data, 3)
    taken = [next(stream).inputs.flatten().tolist() for _ in range(3)]
    assert taken == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]


def test_a_batch_of_more_rows_than_there_are_is_refused_in_order_and_shuffled():
    data = Data(torch.zeros(1, 3, 2), torch.zeros(1, 3))
    for stream in (batches(data, 4), shuffled(data, 4, [torch.Generator()])):
        with pytest.raises(ValueError, match="batches of at most 3 rows"):
            next(stream)


def test_padding_of_a_stack_is_never_moved():
    stack = Stack(initial_weights(NETWORK, lane_generators([0, 1])))
    size = NETWORK.parameters
    assert stack.flat.shape[1] % 16 == 0
    stack.step(sum(t.square().sum() for t in stack.weights.values()), 1e-2, 0.1)
    assert (stack.flat[:, size:] == 0).all()
    assert torch.equal(
        stack.weights["head.bias"].flatten(), stack.flat[:, size - 3 : size].flatten()
    )
