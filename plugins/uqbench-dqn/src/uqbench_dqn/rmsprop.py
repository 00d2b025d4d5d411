"""RMSProp over stacked parameters: elementwise, so that lanes do not mix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn


class RMSProp:
    """RMSProp (Tieleman & Hinton 2012), or Graves's centered variant, over parameters ``[L, ...]``.

    ``s ← ρ s + (1−ρ) g²``, ``θ ← θ − α g / √(s + ε)``; centered, with ``m ← ρ m + (1−ρ) g`` and
    ``s − m²`` in place of ``s`` (Graves 2013, equations 38 to 40, as in Mnih et al. 2015). Every
    operation rounds once, so that a lane's numbers do not depend on its position.

    Args:
        parameters: updated in place.
        learning_rate: α.
        decay: ρ.
        epsilon: ε, inside the root.
        centered: whether the square of the gradients' mean is subtracted.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        learning_rate: float,
        decay: float,
        epsilon: float,
        centered: bool = False,
    ) -> None:
        self.parameters = list(parameters)
        self._learning_rate, self._decay, self._epsilon = learning_rate, decay, epsilon
        self._squares = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        averaged = self.parameters if centered else []
        self._means = [torch.zeros_like(p, requires_grad=False) for p in averaged]

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], active: Tensor | None = None) -> None:
        """One step along the gradients of the parameters, in their order.

        Args:
            gradients: ``[L, ...]`` each.
            active: the lanes to update, ``[L]`` bool; None for all.
        """
        for number, (parameter, gradient) in enumerate(
            zip(self.parameters, gradients, strict=True)
        ):
            taken: Tensor | float = 1.0
            if active is not None:
                taken = active.to(gradient).view(-1, *[1] * (gradient.dim() - 1))
            rate = taken * (1 - self._decay)
            square = self._squares[number]
            # in place where possible: allocating memory costs as much as computing
            scratch = gradient * gradient
            square.add_(scratch.sub_(square).mul_(rate))
            if self._means:
                mean = self._means[number]
                mean.add_((gradient - mean).mul_(rate))
                scratch = (square - mean * mean).clamp_(min=0)  # rounding may fall below
            else:
                scratch.copy_(square)
            root = scratch.add_(self._epsilon).sqrt_()
            parameter.sub_((gradient * (taken * self._learning_rate)).div_(root))

    @property
    def squares(self) -> list[Tensor]:
        """The average of each parameter's squared gradients, for kernels that update it."""
        return self._squares

    def state_dict(self) -> dict[str, Any]:
        """The averages."""
        return {
            "squares": [square.clone() for square in self._squares],
            "means": [mean.clone() for mean in self._means],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        averages = (*self._means, *self._squares)
        for own, saved in zip(averages, (*state["means"], *state["squares"]), strict=True):
            own.copy_(saved)
