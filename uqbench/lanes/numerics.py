"""Operations whose results have the same bits in a lane whatever the other lanes are.

On a CPU, with one torch thread per process, elementwise operations and batched products are
bit-identical per lane, given ``MKL_CBWR`` (workers set it; without it MKL chooses kernels by
address, and sizes that are no multiple of four floats differ). What is not, and what to use:

============================================  ====================================================
torch rounds differently by the lanes beside   here
============================================  ====================================================
sums over a leading dimension                  :func:`sum_of`, :func:`mean_of`: over the last one
products of a matrix and a single vector       :func:`matvec`, :func:`dot`: elementwise, then a sum
``softplus``, fused Adam: the tail of a        :func:`softplus`; :func:`whole_vectors`
tensor, what is left over of SIMD vectors
the weight gradients of grouped convolutions   :class:`uqbench.lanes.LaneConv2d`
``torch.linalg.solve``                         an iteration, such as backups
compiled sums of few numbers per lane, such    nothing: take them outside of what is compiled
as the mean over a batch
============================================  ====================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

VECTOR = 16
"""Floats in the widest SIMD vector (AVX-512)."""


def sum_of(tensors: Iterable[Tensor]) -> Tensor:
    """The elementwise sum of tensors of one shape, ``[...]``."""
    return torch.stack(list(tensors), dim=-1).sum(-1)


def mean_of(tensors: Iterable[Tensor]) -> Tensor:
    """The elementwise mean of tensors of one shape, ``[...]``."""
    return torch.stack(list(tensors), dim=-1).mean(-1)


def dot(x: Tensor, y: Tensor) -> Tensor:
    """``Σ_j x_j y_j`` of ``[..., D]`` each: ``[...]``."""
    return (x * y).sum(-1)


def matvec(matrix: Tensor, vector: Tensor) -> Tensor:
    """``Σ_j M_ij x_j`` of ``[..., C, D]`` and ``[..., D]``: ``[..., C]``."""
    return (matrix * vector.unsqueeze(-2)).sum(-1)


def softplus(x: Tensor) -> Tensor:
    """``log(1 + exp x)``, without overflow."""
    return x.relu() + x.abs().neg().exp().log1p()


def whole_vectors(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors ``[L, ...]``; those whose lanes fill no whole SIMD vectors lane by lane.

    For fused kernels: given to them so, a lane's numbers do not depend on where in a tensor it
    lies. Such tensors are small, like the last layer's biases.
    """
    parts: list[Tensor] = []
    for tensor in tensors:
        if tensor[0].numel() % VECTOR:
            parts += tensor.unbind(0)
        else:
            parts.append(tensor)
    return parts
