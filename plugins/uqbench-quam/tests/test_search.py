"""Facts about the adversarial model search, the networks it moves and how they are moved."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from uqbench_quam.config import QuamConfig
from uqbench_quam.given import mean_loss
from uqbench_quam.learning import Stack, batches, fit, losses
from uqbench_quam.networks import LeNet, Mlp, initial_weights, rows
from uqbench_quam.quam import affordable
from uqbench_quam.search import Visited, away, penalty_weight, search, search_rate, towards

from uqbench.estimator import Data
from uqbench.lanes import lane_generators

NETWORK = Mlp(2, (8, 8), 3)


def problem(lanes: int = 1) -> Data:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(lanes, 30, 2, generator=generator)
    return Data(inputs, (inputs[..., 0] > 0).long() + (inputs[..., 1] > 1).long())


def reference(data: Data) -> dict[str, torch.Tensor]:
    start = initial_weights(NETWORK, lane_generators(range(len(data.targets))))
    return fit(NETWORK, start, data, 100, learning_rate=1e-2, weight_decay=0.0)


def searches(data, weights, lanes, points, classes, config=None):
    lanes = torch.tensor(lanes)
    return search(
        NETWORK,
        rows(weights, lanes),
        data,
        lanes,
        points,
        towards(torch.tensor(classes)),
        mean_loss(NETWORK, weights, data).float()[lanes],
        config or QuamConfig(search_steps=40, period=10),
    )


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


def test_training_is_torchs_adam_with_its_weight_decay():
    data = problem()
    start = initial_weights(NETWORK, lane_generators([0]))
    ours = fit(NETWORK, start, data, 20, learning_rate=1e-2, weight_decay=0.1)
    theirs = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.no_grad():
        for parameter, tensor in zip(theirs.parameters(), start.values(), strict=True):
            parameter.copy_(tensor[0].T.view(parameter.shape))
    optimiser = torch.optim.Adam(theirs.parameters(), 1e-2, weight_decay=0.1)
    for _ in range(20):
        optimiser.zero_grad()
        F.cross_entropy(theirs(data.inputs[0]), data.targets[0]).backward()
        optimiser.step()
    for parameter, tensor in zip(theirs.parameters(), ours.values(), strict=True):
        assert torch.allclose(tensor[0].T.reshape(parameter.shape), parameter, atol=1e-5)


def test_batches_follow_each_other_and_drop_what_is_left_over():
    data = Data(torch.arange(7.0).view(1, 7, 1), torch.zeros(1, 7, dtype=torch.long))
    stream = batches(data, 3)
    taken = [next(stream).inputs.flatten().tolist() for _ in range(3)]
    assert taken == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    with pytest.raises(ValueError, match="at most the 7 rows"):
        next(batches(data, 8))


def test_the_schedule_after_194_steps_is_that_of_the_mnist_experiments():
    config = QuamConfig(penalty=6.0, growth=1.9, period=14, search_rate=5e-3, scales_rate=True)
    assert penalty_weight(config, 0) == 6.0
    assert penalty_weight(config, 13) == 6.0
    assert penalty_weight(config, 14) == pytest.approx(11.4)
    assert penalty_weight(config, 193) == pytest.approx(25_232, rel=1e-4)
    assert search_rate(config, 193) == pytest.approx(5e-3 * 1.9**-13)
    assert search_rate(replace(config, scales_rate=False), 193) == 5e-3


def test_attacks_are_lowest_at_the_class_and_in_the_direction_that_is_sought():
    logits = torch.tensor([[3.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    sought = towards(torch.tensor([0, 1]))(logits)
    assert torch.allclose(sought, -logits.log_softmax(-1)[[0, 1], [0, 1]])
    moved = away(torch.tensor([1.0, 1.0]), torch.tensor([1.0, -1.0]))(torch.tensor([[3.0], [3.0]]))
    assert moved.tolist() == [-2.0, 2.0]


def test_a_search_starts_at_the_reference():
    data = problem()
    weights = reference(data)
    point = torch.tensor([[5.0, 5.0]])
    visited = searches(data, weights, [0], point, [1])
    assert torch.allclose(visited.outputs[0, 0], NETWORK(weights, point[None])[0, 0], atol=1e-6)
    assert visited.losses[0, 0].item() == pytest.approx(
        mean_loss(NETWORK, weights, data).item(), rel=1e-5
    )
    assert visited.accepted[0, 0]


def test_steps_are_those_of_the_loop_that_is_written_out():
    data = problem()
    weights = reference(data)
    point = torch.tensor([[5.0, 5.0]])
    config = QuamConfig(search_steps=25, period=10, penalty=2.0, growth=3.0, search_rate=5e-3)
    visited = searches(data, weights, [0], point, [2], config)
    moved = {name: tensor.clone().requires_grad_() for name, tensor in weights.items()}
    optimiser = torch.optim.Adam(moved.values(), 5e-3, weight_decay=config.search_decay)
    for step in range(25):
        at_point = NETWORK(moved, point[None])[0]
        loss = F.cross_entropy(NETWORK(moved, data.inputs)[0], data.targets[0])
        assert torch.allclose(visited.outputs[step, 0], at_point[0], atol=1e-4)
        assert visited.losses[step, 0].item() == pytest.approx(loss.item(), rel=1e-3)
        c = 2.0 * 3.0 ** (step // 10)
        optimiser.zero_grad()
        (F.cross_entropy(at_point, torch.tensor([2])) + c * loss).backward()
        optimiser.step()


def test_every_search_is_the_same_alone_and_among_others_bit_for_bit():
    data = problem(lanes=3)
    weights = reference(data)
    points = torch.tensor([[5.0, 5.0], [-4.0, 2.0], [0.0, -3.0], [1.0, 9.0], [2.0, 2.0]])
    lanes, classes = [0, 1, 2, 2, 1], [0, 1, 2, 0, 2]
    together = searches(data, weights, lanes, points, classes)
    for one in range(5):
        alone = searches(data, weights, [lanes[one]], points[[one]], [classes[one]])
        assert torch.equal(alone.outputs[:, 0], together.outputs[:, one])
        assert torch.equal(alone.losses[:, 0], together.losses[:, one])


def test_adversarial_models_move_the_prediction_and_explain_the_data():
    data = problem()
    weights = reference(data)
    point = torch.tensor([[-9.0, 9.0]]).expand(3, 2)
    config = QuamConfig(search_steps=400, period=40, search_rate=1e-2, search_decay=0.0)
    visited = searches(data, weights, [0, 0, 0], point, [0, 1, 2], config)
    step, any_ = visited.found()
    assert any_.all()
    best = visited.outputs.softmax(-1)[step, torch.arange(3)]
    assert (best[torch.arange(3), torch.arange(3)] > 0.9).all()
    assert visited.accepted[step, torch.arange(3)].all()


def test_found_is_the_lowest_adversarial_loss_among_the_accepted():
    outputs = torch.arange(4.0).view(4, 1, 1)
    adversarial = torch.tensor([[0.0], [-3.0], [-2.0], [-1.0]])
    accepted = torch.tensor([[True], [False], [True], [True]])
    step, any_ = Visited(outputs, adversarial, adversarial, accepted).found()
    assert step.item() == 2
    assert any_.item()
    none = Visited(outputs, adversarial, adversarial, torch.zeros(4, 1, dtype=torch.bool))
    assert not none.found()[1].item()


def test_a_hinged_penalty_is_silent_while_the_constraint_holds():
    data = problem()
    weights = reference(data)
    point = torch.tensor([[5.0, 5.0]])
    free = QuamConfig(search_steps=10, period=10, penalty=0.0)
    hinged = QuamConfig(search_steps=10, period=10, penalty=100.0, hinge=True, slack=10.0)
    plain = QuamConfig(search_steps=10, period=10, penalty=100.0, slack=10.0)
    outputs = [searches(data, weights, [0], point, [2], c).outputs for c in (free, hinged, plain)]
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_losses_are_cross_entropies_and_squared_errors():
    logits = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    classes = torch.tensor([[0, 1, 2], [3, 3, 0]])
    expected = -logits.log_softmax(-1).gather(-1, classes[..., None]).squeeze(-1)
    assert torch.allclose(losses(logits, classes), expected)
    assert losses(torch.tensor([[[1.0]]]), torch.tensor([[3.0]])).tolist() == [[4.0]]


def test_padding_of_a_stack_is_never_moved():
    stack = Stack(initial_weights(NETWORK, lane_generators([0, 1])))
    size = NETWORK.parameters
    assert stack.flat.shape[1] % 16 == 0
    stack.step(sum(t.square().sum() for t in stack.weights.values()), 1e-2, 0.1)
    assert (stack.flat[:, size:] == 0).all()
    assert torch.equal(
        stack.weights["head.bias"].flatten(), stack.flat[:, size - 3 : size].flatten()
    )


def test_a_budget_of_forward_passes_pays_for_whole_searches():
    assert affordable(600, 100) == 2
    assert affordable(899, 100) == 2
    with pytest.raises(ValueError, match="pays for no search: one of 100 steps costs 300"):
        affordable(299, 100)
