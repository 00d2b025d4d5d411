"""Stacked layers equal torch's own layers, lane by lane; lanes do not meet, bit for bit."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from uqbench.lanes import Adam, LaneConv2d, LaneLinear, initialize, lane_generators

LANES, BATCH = 3, 5
every_ensemble = pytest.mark.parametrize("ensemble", [None, 1, 4])


def leading(ensemble: int | None) -> tuple[int, ...]:
    return (LANES,) if ensemble is None else (LANES, ensemble)


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def fill(module: nn.Module) -> None:
    """Double precision, and normal numbers in all parameters, biases too."""
    module.double()
    with torch.no_grad():
        for seed, parameter in enumerate(module.parameters()):
            parameter.copy_(normal(*parameter.shape, seed=100 + seed))


def assert_same_map(
    module: nn.Module, layer: LaneLinear, x: Tensor, ensemble: int | None, reference: object
) -> None:
    """``module(x)`` and all its gradients equal ``reference(weight, bias, x)`` member by member."""
    last = len(leading(ensemble)) - 1
    x = x.flatten(0, last).requires_grad_()
    out = module(x)
    cotangent = normal(*out.shape, seed=9)
    grads = torch.autograd.grad(out, [layer.weight, layer.bias, x], cotangent)
    parts = [layer.weight.flatten(0, last), layer.bias.flatten(0, last), x, out, cotangent]
    grad_parts = [grads[0].flatten(0, last), grads[1].flatten(0, last), grads[2]]
    for member, (weight, bias, inputs, given, direction) in enumerate(zip(*parts, strict=True)):
        leaves = [tensor.detach().requires_grad_() for tensor in (weight, bias, inputs)]
        expected = reference(*leaves)
        torch.testing.assert_close(given, expected, rtol=1e-12, atol=1e-12)
        for grad, wanted in zip(
            grad_parts, torch.autograd.grad(expected, leaves, direction), strict=True
        ):
            torch.testing.assert_close(grad[member], wanted, rtol=1e-12, atol=1e-12)


@every_ensemble
def test_linear_layer_is_torchs_linear_per_lane_with_the_same_gradients(
    ensemble: int | None,
) -> None:
    layer = LaneLinear(LANES, 7, 4, ensemble)
    fill(layer)
    x = normal(*leading(ensemble), BATCH, 7)
    assert_same_map(
        layer, layer, x, ensemble, lambda weight, bias, x: F.linear(x, weight.T, bias[0])
    )


@every_ensemble
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize(("shape", "kernel"), [((2, 10, 10), 3), ((3, 7, 9), 2), ((1, 5, 6), 5)])
def test_convolution_is_torchs_conv2d_per_lane_with_the_same_gradients(
    ensemble: int | None, stride: int, shape: tuple[int, int, int], kernel: int
) -> None:
    layer = LaneConv2d(LANES, shape, 4, kernel, stride, ensemble)
    fill(layer)

    def reference(weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
        filters = weight.T.unflatten(1, (kernel, kernel, shape[0])).movedim(-1, 1)
        out = F.conv2d(x, filters, bias[0], stride=stride)
        assert out.shape[1:] == (layer.channels, layer.rows, layer.columns)
        return out.movedim(1, -1).flatten(1)

    x = normal(*leading(ensemble), BATCH, *shape)
    assert layer(x.flatten(0, -5)).shape == (LANES * (ensemble or 1), BATCH, layer.features)
    assert_same_map(layer, layer.product, x, ensemble, reference)


@every_ensemble
@pytest.mark.parametrize("gain", [2**0.5, 3.0])
@pytest.mark.parametrize(("inputs", "outputs"), [(12, 5), (5, 12), (6, 6), (3, 1)])
def test_initial_weights_are_orthogonal_times_the_gain_and_biases_zero(
    ensemble: int | None, gain: float, inputs: int, outputs: int
) -> None:
    layer = LaneLinear(LANES, inputs, outputs, ensemble)
    nn.init.ones_(layer.bias)
    initialize(layer, lane_generators(range(LANES)), gain)
    for weight in layer.weight.detach().reshape(-1, inputs, outputs):
        product = weight.T @ weight if inputs >= outputs else weight @ weight.T
        identity = torch.eye(min(inputs, outputs))
        torch.testing.assert_close(product, gain**2 * identity, rtol=1e-5, atol=1e-5)
    assert not layer.bias.any()


def test_a_convolutions_filters_start_orthogonal() -> None:
    layer = LaneConv2d(LANES, (4, 10, 10), 16, 3)
    initialize(layer, lane_generators(range(LANES)), 2.0)
    for weight in layer.product.weight.detach():
        torch.testing.assert_close(weight.T @ weight, 4 * torch.eye(16), rtol=1e-5, atol=1e-5)


def network(lanes: int, ensemble: int | None) -> nn.Sequential:
    """Convolution and two odd-sized layers, so that lanes do not fill vector registers."""
    convolution = LaneConv2d(lanes, (2, 5, 5), 3, 3, 1, ensemble)
    hidden = LaneLinear(lanes, convolution.features, 13, ensemble)
    return nn.Sequential(
        convolution, nn.ReLU(), hidden, nn.ReLU(), LaneLinear(lanes, 13, 3, ensemble)
    )


def initialized(seeds: list[int], ensemble: int | None) -> nn.Sequential:
    made = network(len(seeds), ensemble)
    initialize(made, lane_generators(seeds), 1.5)
    return made


@every_ensemble
def test_a_lanes_initial_weights_depend_on_its_seed_only(ensemble: int | None) -> None:
    together, alone = initialized([4, 8, 6, 8], ensemble), initialized([8], ensemble)
    for stacked, single in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.equal(stacked[1], single[0])
        assert torch.equal(stacked[3], single[0])
    weights = together[0].product.weight
    assert not torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[1], weights[2])


def test_members_of_an_ensemble_start_apart() -> None:
    weight = initialized([4], 3)[0].product.weight[0]
    for one, other in itertools.combinations(weight, 2):
        assert not torch.equal(one, other)


def trained(seeds: list[int], ensemble: int | None) -> tuple[list[Tensor], Tensor]:
    """Parameters and loss after ten steps of Adam; lane data depend on the lane's seed only."""
    made = initialized(seeds, ensemble)
    optimizer = Adam(made.parameters(), 1e-2, 1e-8)
    members = ensemble or 1
    for t in range(10):
        x = torch.cat([normal(members, 32, 2, 5, 5, seed=1000 * s + t).float() for s in seeds])
        loss = (made(x) - x.mean((-1, -2, -3))[..., None]).square()
        loss = loss.unflatten(0, (len(seeds), members)).flatten(1).mean(1)
        optimizer.step(torch.autograd.grad(loss.sum(), optimizer.parameters))
    return [parameter.detach() for parameter in made.parameters()], loss.detach()


@pytest.mark.parametrize("ensemble", [None, 4])
@pytest.mark.parametrize("seeds", [[8, 1, 2], [5, 8], list(range(10))])
def test_training_of_a_lane_is_bit_identical_alone_and_among_others(
    ensemble: int | None, seeds: list[int]
) -> None:
    alone, alone_loss = trained([8], ensemble)
    together, together_loss = trained(seeds, ensemble)
    lane = seeds.index(8)
    assert torch.equal(together_loss[lane], alone_loss[0])
    for stacked, single in zip(together, alone, strict=True):
        assert torch.equal(stacked[lane], single[0])


def test_adam_takes_the_papers_first_step() -> None:
    """θ₁ = θ₀ − α g / (|g| + ε): bias correction cancels the moments' decay at t = 1."""
    parameter = nn.Parameter(torch.tensor([1.0, -2.0, 3.0, 0.5]))
    gradient = torch.tensor([0.5, -4.0, 1e-3, 0.0])
    Adam([parameter], learning_rate=0.1, epsilon=1e-3).step([gradient])
    expected = torch.tensor([1.0, -2.0, 3.0, 0.5]) - 0.1 * gradient / (gradient.abs() + 1e-3)
    torch.testing.assert_close(parameter.detach(), expected)


@pytest.mark.parametrize("width", [16, 300, 7])
def test_adam_is_torchs_adam_and_goes_on_after_being_saved(width: int) -> None:
    start = normal(3, width).float()
    parameter, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    ours, reference = Adam([parameter], 0.01, 1e-8), torch.optim.Adam([theirs], 0.01, eps=1e-8)
    for t in range(20):
        if t == 10:
            state = ours.state_dict()
            ours.step([torch.full_like(start, 9.0)])  # what came after the state was taken
            parameter.data.copy_(theirs.data)
            ours = Adam([parameter], 0.01, 1e-8)
            ours.load_state_dict(state)
        gradient = normal(3, width, seed=t).float()
        ours.step([gradient])
        theirs.grad = gradient
        reference.step()
        torch.testing.assert_close(parameter.detach(), theirs.detach(), rtol=1e-5, atol=1e-6)
