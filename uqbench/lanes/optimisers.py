"""Optimisers over stacked parameters: elementwise, so that lanes do not meet.

One trap: the fused CPU kernel rounds the tail of a tensor, what is left over of whole SIMD vectors,
differently. Where a lane's share is no multiple of a vector, its numbers would depend on where in
the tensor it lies. Such tensors (small: the last layer's biases) are given to it lane by lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

VECTOR = 16
"""Floats in the widest SIMD vector (AVX-512)."""


class Adam:
    """Adam (Kingma & Ba 2015) over parameters ``[L, ...]``, by torch's fused kernel.

    Args:
        parameters: what it learns; changed in place.
        learning_rate: α.
        epsilon: ε.
        betas: β₁ and β₂.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        learning_rate: float,
        epsilon: float,
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        self.parameters = list(parameters)
        self._learning_rate = learning_rate
        self._epsilon = epsilon
        self._betas = betas
        self._means = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        self._squares = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        self._steps = [torch.zeros((), device=part.device) for part in _parts(self._means)]

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor]) -> None:
        """One step along the gradients of the parameters, in their order."""
        adam(
            _parts(self.parameters),
            _parts(gradients),
            _parts(self._means),
            _parts(self._squares),
            [],
            self._steps,
            fused=True,
            capturable=self._steps[0].is_cuda,
            amsgrad=False,
            beta1=self._betas[0],
            beta2=self._betas[1],
            lr=self._learning_rate,
            weight_decay=0.0,
            eps=self._epsilon,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """Both moments, and the steps taken."""
        return {
            "means": [mean.clone() for mean in self._means],
            "squares": [square.clone() for square in self._squares],
            "step": self._steps[0].item(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        for own, saved in zip(self._means, state["means"], strict=True):
            own.copy_(saved)
        for own, saved in zip(self._squares, state["squares"], strict=True):
            own.copy_(saved)
        for step in self._steps:
            step.fill_(state["step"])


def _parts(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors; those whose lanes are no multiple of a vector in their lanes."""
    parts: list[Tensor] = []
    for tensor in tensors:
        if tensor[0].numel() % VECTOR:
            parts += tensor.unbind(0)
        else:
            parts.append(tensor)
    return parts
