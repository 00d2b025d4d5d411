"""Batched products by oneDNN, twice as fast as MKL's on AMD, where MKL uses no AVX-512.

Where MKL takes a branch of Intel's it is the faster one: ``uqbench.lanes.execution.library``.
oneDNN's products round otherwise than ``torch.bmm``, so runs with one actor, whose bits are
published, keep to that. Every product of a batch is a call of its own, so a lane's bits do not
depend on the others.
"""

from typing import Any

import torch
from torch import Tensor

LEAST, MOST = 4e6, 1_024
"""Floating-point operations of a product from which it pays, and terms of its sums up to which."""


_LIBRARY = torch.library.Library("uqbench", "FRAGMENT")
_LIBRARY.define("products(Tensor x, Tensor w, int rows) -> Tensor")


def _products(x: Tensor, w: Tensor, rows: int) -> Tensor:
    """``[X, B, in], [W, in, out] -> [rows, B, out]``: max(X, W) products, summed to ``rows``."""
    count = max(len(x), len(w))
    out = x.new_empty(rows, x.shape[1], w.shape[2])
    for k in range(count):
        a, b = x[k * len(x) // count], w[k * len(w) // count]
        product = torch.ops.mkldnn._linear_pointwise(a, b.mT, None, "none", [], "")
        into = out[k * rows // count]
        into.add_(product) if k * rows % count else into.copy_(product)
    return out


def _shaped(x: Tensor, w: Tensor, rows: int) -> Tensor:
    return x.new_empty(rows, x.shape[1], w.shape[2])


_LIBRARY.impl("products", _products, "CPU")
torch.library.register_fake("uqbench::products", _shaped, lib=_LIBRARY)


class _Products(torch.autograd.Function):
    """The products, with gradients that are products, too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        result: Tensor = torch.ops.uqbench.products(x, w, max(len(x), len(w)))
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (gradient,), (x, w) = gradients, ctx.saved_tensors
        to_x, to_w = ctx.needs_input_grad
        return (
            _summed(gradient, w.mT, len(x)) if to_x else None,
            _summed(x.mT, gradient, len(w)) if to_w else None,
        )


def _pays(x: Tensor, w: Tensor) -> bool:
    terms, outputs = w.shape[1:]
    return 2 * x.shape[1] * terms * outputs >= LEAST and terms <= MOST and outputs >= 32


def _summed(x: Tensor, w: Tensor, rows: int) -> Tensor:
    """The products, those of each S / rows in a row summed: ``[rows, B, out]``."""
    if _pays(x, w):
        result: Tensor = torch.ops.uqbench.products(x, w, rows)
        return result
    products = torch.bmm(*_as_many(x, w))
    return products if len(products) == rows else products.unflatten(0, (rows, -1)).sum(1)


def _as_many(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Both with as many rows as the one that has more, each repeated for those that share it."""
    if len(x) < len(w):
        return x.repeat_interleave(len(w) // len(x), 0), w
    return x, w.repeat_interleave(len(x) // len(w), 0) if len(w) < len(x) else w


def product(x: Tensor, w: Tensor, onednn: bool) -> Tensor:
    """``[X, B, in], [W, in, out] -> [S, B, out]``, S = max(X, W).

    The fewer are each used for several products in a row.

    Args:
        x: left factors.
        w: right factors.
        onednn: whether to use oneDNN where it is faster.
    """
    if onednn and _pays(x, w):
        result: Tensor = _Products.apply(x, w)  # type: ignore[no-untyped-call]
        return result
    return torch.bmm(*_as_many(x, w))
