"""What is computed for a lane has the same bits whatever the other lanes are."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from uqbench.lanes import numerics

OPERATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum_of": lambda x: numerics.sum_of(x.unbind(1)),
    "mean_of": lambda x: numerics.mean_of(x.unbind(1)),
    "dot": lambda x: numerics.dot(x[..., 0], x[..., 1]),
    "matvec": lambda x: numerics.matvec(x, x[:, 0]),
    "softplus": numerics.softplus,
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("width", [1, 3, 7, 16, 33])
def test_a_lane_is_the_same_alone_and_among_others_bit_for_bit(name: str, width: int) -> None:
    operation = OPERATIONS[name]
    x = 3 * torch.randn(9, 5, width + 1, generator=torch.Generator().manual_seed(0))
    together = operation(x)
    for lane in range(9):
        assert torch.equal(operation(x[lane : lane + 1])[0], together[lane])


def test_sums_and_products_are_torchs_but_for_rounding() -> None:
    x = torch.randn(4, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(numerics.sum_of(x.unbind(0)), x.sum(0))
    torch.testing.assert_close(numerics.mean_of(x.unbind(0)), x.mean(0))
    torch.testing.assert_close(numerics.dot(x, x.flip(0)), (x * x.flip(0)).sum(-1))
    torch.testing.assert_close(numerics.matvec(x, x[:, 0]), (x @ x[:, 0, :, None]).squeeze(-1))


def test_softplus_is_torchs_and_does_not_overflow() -> None:
    x = torch.linspace(-200, 200, 401)
    torch.testing.assert_close(numerics.softplus(x), torch.nn.functional.softplus(x))


def test_only_lanes_that_fill_no_whole_vectors_are_split() -> None:
    whole, split = torch.zeros(3, 4, 8), torch.zeros(3, 1, 7)
    parts = numerics.whole_vectors([whole, split])
    assert [part.shape for part in parts] == [(3, 4, 8), (1, 7), (1, 7), (1, 7)]
    assert parts[0] is whole
