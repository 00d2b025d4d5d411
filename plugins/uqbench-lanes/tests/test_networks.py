"""Stacked layers equal torch's own layers, lane by lane; lanes do not meet; target networks."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from uqbench import lanes as toolkit
from uqbench.lanes import Adam, LaneConv2d, LaneLinear, initialize, lane_generators, sync_target
from uqbench.testing.same_bits import same

LANES, BATCH = 3, 5
every_ensemble = pytest.mark.parametrize("ensemble", [None, 1, 4])


def leading(ensemble: int | None) -> tuple[int, ...]:
    return (LANES,) if ensemble is None else (LANES, ensemble)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


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
        wanted_parts = torch.autograd.grad(expected, leaves, direction)
        for grad, wanted in zip(grad_parts, wanted_parts, strict=True):
            torch.testing.assert_close(grad[member], wanted, rtol=1e-12, atol=1e-12)


@every_ensemble
def test_linear_layer_is_torchs_linear_per_lane_with_the_same_gradients(ensemble):
    layer = LaneLinear(LANES, 7, 4, ensemble)
    fill(layer)

    def reference(weight, bias, x):
        return F.linear(x, weight.T, bias[0])

    assert_same_map(layer, layer, normal(*leading(ensemble), BATCH, 7), ensemble, reference)


@every_ensemble
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize(("shape", "kernel"), [((2, 10, 10), 3), ((3, 7, 9), 2), ((1, 5, 6), 5)])
def test_convolution_is_torchs_conv2d_per_lane_with_its_gradients(ensemble, stride, shape, kernel):
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
def test_initial_weights_are_orthogonal_times_gain_and_biases_zero(ensemble, gain, inputs, outputs):
    layer = LaneLinear(LANES, inputs, outputs, ensemble)
    nn.init.ones_(layer.bias)
    initialize(layer, lane_generators(range(LANES)), gain)
    for weight in layer.weight.detach().reshape(-1, inputs, outputs):
        product = weight.T @ weight if inputs >= outputs else weight @ weight.T
        identity = torch.eye(min(inputs, outputs))
        torch.testing.assert_close(product, gain**2 * identity, rtol=1e-5, atol=1e-5)
    assert not layer.bias.any()


def initialized(seeds: list[int], ensemble: int | None) -> nn.Sequential:
    """Convolution and two odd-sized layers, so that lanes do not fill vector registers."""
    lanes = len(seeds)
    convolution = LaneConv2d(lanes, (2, 5, 5), 3, 3, 1, ensemble)
    hidden = LaneLinear(lanes, convolution.features, 13, ensemble)
    last = LaneLinear(lanes, 13, 3, ensemble)
    made = nn.Sequential(convolution, nn.ReLU(), hidden, nn.ReLU(), last)
    initialize(made, lane_generators(seeds), 1.5)
    return made


@every_ensemble
def test_a_lanes_initial_weights_depend_on_its_seed_only(ensemble: int | None) -> None:
    together, alone = initialized([4, 8, 6, 8], ensemble), initialized([8], ensemble)
    for stacked, single in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.equal(stacked[1], single[0])
        assert torch.equal(stacked[3], single[0])
    drawn = together[0].product.weight[:3].flatten(0, -3 if ensemble else 0)
    assert len(drawn.unique(dim=0)) == 3 * (ensemble or 1)  # lanes and members start apart


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


def online_network() -> nn.Sequential:
    network = nn.Sequential(LaneLinear(2, 3, 4), nn.ReLU(), LaneLinear(2, 4, 1))
    initialize(network, lane_generators([0, 1]), 1.0)
    return network


def shift(network: nn.Module) -> None:
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 1.0


def test_the_copy_stays_until_it_is_renewed_in_place_and_takes_no_gradients() -> None:
    online = online_network()
    target = toolkit.target_copy(online)
    addresses = [parameter.data_ptr() for parameter in target.parameters()]
    for _ in range(2):
        before = deepcopy(target)
        assert same(online.state_dict(), target.state_dict())
        shift(online)
        assert same(target.state_dict(), before.state_dict())
        sync_target(online, target)
    assert [parameter.data_ptr() for parameter in target.parameters()] == addresses
    assert not target(torch.ones(2, 1, 3)).requires_grad
    assert online(torch.ones(2, 1, 3)).requires_grad


def test_networks_of_different_depth_are_refused() -> None:
    online = online_network()
    with pytest.raises(ValueError, match="shorter"):
        sync_target(online, online[0])
