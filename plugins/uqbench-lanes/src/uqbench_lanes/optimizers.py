"""Optimizers over stacked parameters: elementwise, so that lanes do not mix."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from uqbench_lanes.numerics import whole_vectors


class Adam:
    """Adam (Kingma & Ba 2015, Algorithm 1) over parameters ``[L, ...]``.

    Called from Python it is torch's fused kernel; inside a compiled function it is the paper's
    formula, which the compiler fuses with the gradients.

    Args:
        parameters: updated in place.
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
        self._learning_rate, self._epsilon, self._betas = learning_rate, epsilon, betas
        self._means = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        self._squares = [torch.zeros_like(p, requires_grad=False) for p in self.parameters]
        parts = whole_vectors(self._means)
        self._steps = torch.zeros(len(parts), device=parts[0].device)
        # computed before the step: inside it, they would be recomputed for every element
        self._step_size = torch.empty((), device=parts[0].device)
        self._root_scale = torch.empty((), device=parts[0].device)
        self._prepare()
        self._before, self._ahead = 0.0, 0  # steps of the tensors', and of kernels since

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor]) -> None:
        """One step along the gradients of the parameters, in their order."""
        self._catch_up()
        if torch.compiler.is_compiling():
            self._formula(gradients)
            self._steps += 1
        else:
            self._fused(gradients)
        self._prepare()

    def _formula(self, gradients: Sequence[Tensor]) -> None:
        """``m ← β₁m + (1−β₁)g``, ``v ← β₂v + (1−β₂)g²``, ``θ ← θ − α m̂ / (√v̂ + ε)``."""
        first, second = self._betas
        for parameter, gradient, mean, square in zip(
            self.parameters, gradients, self._means, self._squares, strict=True
        ):
            mean.lerp_(gradient, 1 - first)
            square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
            root = square.sqrt() * self._root_scale
            parameter.sub_(self._step_size * mean / (root + self._epsilon))

    def _fused(self, gradients: Sequence[Tensor]) -> None:
        adam(
            whole_vectors(self.parameters),
            whole_vectors(gradients),
            whole_vectors(self._means),
            whole_vectors(self._squares),
            [],
            list(self._steps.unbind()),
            fused=True,
            capturable=self._steps.is_cuda,
            amsgrad=False,
            beta1=self._betas[0],
            beta2=self._betas[1],
            lr=self._learning_rate,
            weight_decay=0.0,
            eps=self._epsilon,
            maximize=False,
        )

    @property
    def moments(self) -> tuple[list[Tensor], list[Tensor]]:
        """Both averages of each parameter, for kernels that update them."""
        return self._means, self._squares

    def rates(self) -> tuple[float, float, float, float, float]:
        """β₁, β₂, ``α / (1 − β₁ᵗ)``, ``1 / √(1 − β₂ᵗ)`` and ε of the coming step t."""
        if not self._ahead:
            self._before = self._steps[0].item()
        (first, second), coming = self._betas, self._before + self._ahead + 1
        step_size = self._learning_rate / (1 - first**coming)
        return first, second, step_size, (1 - second**coming) ** -0.5, self._epsilon

    def count(self) -> None:
        """Count a step that a kernel has taken; the tensors are told when they are needed.

        While a kernel's data fill the caches a call of torch's costs 20 µs.
        """
        self._ahead += 1

    def _catch_up(self) -> None:
        """Have the tensors count the steps that kernels have taken."""
        if self._ahead:
            _, _, step_size, root_scale, _ = self.rates()
            self._steps += self._ahead
            self._step_size.fill_(step_size)
            self._root_scale.fill_(root_scale)
            self._ahead = 0

    def _prepare(self) -> None:
        """``α / (1 − β₁ᵗ)`` and ``1 / √(1 − β₂ᵗ)`` for the coming step t."""
        coming = self._steps[0] + 1
        self._step_size.copy_(self._learning_rate / (1 - self._betas[0] ** coming))
        self._root_scale.copy_((1 - self._betas[1] ** coming).rsqrt())

    def state_dict(self) -> dict[str, Any]:
        """Both moments, and the steps taken."""
        self._catch_up()
        return {
            "means": [mean.clone() for mean in self._means],
            "squares": [square.clone() for square in self._squares],
            "step": self._steps[0].item(),
            "step_size": self._step_size.clone(),
            "root_scale": self._root_scale.clone(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._ahead, averages = 0, (*self._means, *self._squares)
        for own, saved in zip(averages, (*state["means"], *state["squares"]), strict=True):
            own.copy_(saved)
        self._steps.fill_(state["step"])
        # not recomputed: a compiled step rounds differently
        self._step_size.copy_(state["step_size"])
        self._root_scale.copy_(state["root_scale"])
