"""oneDNN's products are products, by lane."""

import pytest
import torch

from uqbench.lanes import LaneLinear
from uqbench.lanes.execution import AVAILABLE, library, use_onednn
from uqbench.lanes.products import product

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="this torch has no oneDNN")
SHAPES = [(128, 1024, 128), (67, 641, 129), (128, 128, 300)]


def gradients(x, w, onednn):
    x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
    found = product(x, w, onednn)
    weights = torch.linspace(-1, 1, found[0].numel()).view_as(found[0])
    return found.detach(), *torch.autograd.grad((found * weights).sum(), (x, w))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [1, 3])
def test_products_and_gradients_are_those_in_double_precision(shape, share):
    size, terms, outputs = shape
    x, w = torch.randn(2, size, terms), torch.randn(2 * share, terms, outputs)
    exact = gradients(x.double(), w.double(), onednn=False)
    for found, expected in zip(gradients(x, w, onednn=True), exact, strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [1, 2])
def test_a_lane_has_the_same_bits_alone_and_among_others(shape, share):
    size, terms, outputs = shape
    x, w = torch.randn(5, size, terms), torch.randn(5 * share, terms, outputs)
    together = gradients(x, w, onednn=True)
    for lane in range(5):
        own = slice(lane * share, (lane + 1) * share)
        alone = gradients(x[lane : lane + 1], w[own], onednn=True)
        for one, every in zip(alone, together, strict=True):
            assert torch.equal(one, every.unflatten(0, (5, -1))[lane])


@pytest.mark.parametrize(
    ("branch", "expected"),
    [("AVX512_E1", "MKL"), ("AVX2", "MKL"), ("AUTO", "oneDNN"), (None, "oneDNN")],
)
def test_products_are_of_the_library_that_is_faster_in_mkls_branch(branch, expected, monkeypatch):
    """AUTO is what a worker pins on another maker's processor."""
    monkeypatch.delenv("MKL_CBWR", raising=False)
    if branch is not None:
        monkeypatch.setenv("MKL_CBWR", branch)
    layer = LaneLinear(1, 1024, 128)
    use_onednn([layer])
    assert library() == expected
    assert layer.onednn == (expected == "oneDNN")


def test_a_layer_uses_them_only_where_it_is_told_to(monkeypatch):
    monkeypatch.setenv("MKL_CBWR", "AUTO")
    layer, x = LaneLinear(2, 1024, 128, ensemble=2), torch.randn(2, 128, 1024)
    torch.nn.init.normal_(layer.weight)
    plain = torch.bmm(x.repeat_interleave(2, 0), layer.weight.flatten(0, 1))
    assert torch.equal(layer(x), plain)
    use_onednn([layer, "no module"])
    assert torch.allclose(layer(x), plain, rtol=1e-3, atol=1e-3)
    assert torch.equal(layer(x), product(x, layer.weight.flatten(0, 1), onednn=True))
