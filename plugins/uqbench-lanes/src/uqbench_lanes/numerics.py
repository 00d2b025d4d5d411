"""Operations whose results in a lane are bit-identical whatever the other lanes are.

On a CPU, with one torch thread per process, elementwise operations and batched products are
bit-identical per lane if ``MKL_CBWR`` is set (workers set it; without it MKL chooses kernels by
address, and sizes that are not a multiple of four floats differ). What is not, and what to use:

============================================  ====================================================
rounding in torch depends on the other lanes   use instead
============================================  ====================================================
sums over a leading dimension                  :func:`sum_of`, :func:`mean_of`: over the last one
products of a matrix and a single vector       :func:`matvec`, :func:`dot`: elementwise, then a sum
``softplus``, fused Adam: the remainder of a   :func:`softplus`; :func:`whole_vectors`
tensor that fills no whole SIMD vector
the weight gradients of grouped convolutions   :class:`uqbench.lanes.LaneConv2d`
``torch.linalg.solve``                         an iteration, such as backups
compiled sums of few numbers per lane, such    nothing: compute them outside compiled functions
as the mean over a batch
============================================  ====================================================
"""

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
    """The tensors ``[L, ...]``, split by lane where a lane does not fill whole SIMD vectors.

    For fused kernels: a lane's numbers then do not depend on its position in the tensor. The
    tensors that are split are small, such as the last layer's biases.
    """
    parts: list[Tensor] = []
    for tensor in tensors:
        if tensor[0].numel() % VECTOR:
            parts += tensor.unbind(0)
        else:
            parts.append(tensor)
    return parts
