"""The adversarial model search."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F
from uqbench_predictive.networks.architectures import Mlp, initial_weights, rows
from uqbench_predictive.networks.learning import fit, mean_loss
from uqbench_quam.methods import search as searching
from uqbench_quam.methods.config import QuamConfig
from uqbench_quam.methods.search import SearchTrace, away, search, search_rate, toward

from uqbench.estimator import Data
from uqbench.lanes import lane_generators

NETWORK = Mlp(2, (8, 8), 3)


def reference(data: Data) -> dict[str, torch.Tensor]:
    start = initial_weights(NETWORK, lane_generators(range(len(data.targets))))
    return fit(NETWORK, start, data, 100, learning_rate=1e-2, weight_decay=0.0)


def searches(data, weights, lanes, points, classes, config=None):
    lanes, config = torch.tensor(lanes), config or QuamConfig(search_steps=40, period=10)
    losses = mean_loss(NETWORK, weights, data).float()[lanes]
    target = toward(torch.tensor(classes))
    return search(NETWORK, rows(weights, lanes), data, lanes, points, target, losses, config)


def test_the_schedule_after_194_steps_is_that_of_the_mnist_experiments():
    config = QuamConfig(penalty=6.0, growth=1.9, period=14, search_rate=5e-3, scales_rate=True)
    weights = [searching.penalty_weight(config, step) for step in (0, 13, 14, 193)]
    assert weights == pytest.approx([6.0, 6.0, 11.4, 25_232], rel=1e-4)
    assert search_rate(config, 193) == pytest.approx(5e-3 * 1.9**-13)
    assert search_rate(replace(config, scales_rate=False), 193) == 5e-3


def test_attacks_are_lowest_at_the_class_and_in_the_target_direction():
    logits = torch.tensor([[3.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    targeted = toward(torch.tensor([0, 1]))(logits)
    assert torch.allclose(targeted, -logits.log_softmax(-1)[[0, 1], [0, 1]])
    moved = away(torch.tensor([1.0, 1.0]), torch.tensor([1.0, -1.0]))(torch.tensor([[3.0], [3.0]]))
    assert moved.tolist() == [-2.0, 2.0]


def test_steps_are_those_of_the_loop_that_is_written_out(problem):
    data = problem()
    weights, point = reference(data), torch.tensor([[5.0, 5.0]])
    config = QuamConfig(search_steps=25, period=10, penalty=2.0, growth=3.0, search_rate=5e-3)
    trace = searches(data, weights, [0], point, [2], config)
    assert trace.accepted[0, 0]
    moved = {name: tensor.clone().requires_grad_() for name, tensor in weights.items()}
    optimizer = torch.optim.Adam(moved.values(), 5e-3, weight_decay=config.search_decay)
    for step in range(25):
        at_point = NETWORK(moved, point[None])[0]
        loss = F.cross_entropy(NETWORK(moved, data.inputs)[0], data.targets[0])
        assert torch.allclose(trace.outputs[step, 0], at_point[0], atol=1e-4)
        assert trace.losses[step, 0].item() == pytest.approx(loss.item(), rel=1e-3)
        c = 2.0 * 3.0 ** (step // 10)
        optimizer.zero_grad()
        (F.cross_entropy(at_point, torch.tensor([2])) + c * loss).backward()
        optimizer.step()


def test_best_is_the_lowest_adversarial_loss_among_the_accepted():
    outputs = torch.arange(4.0).view(4, 1, 1)
    adversarial = torch.tensor([[0.0], [-3.0], [-2.0], [-1.0]])
    accepted = torch.tensor([[True], [False], [True], [True]])
    step, any_ = SearchTrace(outputs, adversarial, adversarial, accepted).best()
    assert step.item() == 2
    assert any_.item()
    none = SearchTrace(outputs, adversarial, adversarial, torch.zeros(4, 1, dtype=torch.bool))
    assert not none.best()[1].item()
