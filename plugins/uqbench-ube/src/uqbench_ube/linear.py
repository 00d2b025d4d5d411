"""The local uncertainty of linear values (O'Donoghue et al. 2018, section 4, equations 4 and 5).

Shapes: ``L`` lanes, ``A`` actions, ``D`` features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from uqbench.lanes.numerics import dot, matvec


class InverseCounts:
    """``Σ_a = (μ⁻¹ I + Φ_aᵀ Φ_a)⁻¹`` of every lane and action; ``φᵀ Σ_a φ`` is taken for ``1 / n``.

    Kept in float64, in which the updates leave it symmetric (exactly, because a rank-one update is)
    and positive definite for as many steps as runs have.

    Args:
        lanes: L.
        n_actions: A.
        features: D.
        prior: μ, what Σ_a is of the identity before any data.
        device: where it lives.
    """

    def __init__(
        self, lanes: int, n_actions: int, features: int, prior: float, device: torch.device
    ) -> None:
        identity = torch.eye(features, dtype=torch.float64, device=device)
        self.matrices = (prior * identity).repeat(lanes * n_actions, 1, 1)
        self._first = torch.arange(lanes, device=device) * n_actions

    def update(self, features: Tensor, action: Tensor) -> Tensor:
        """Count that ``action`` ``[L, K]`` was taken in states with ``features`` ``[L, K, D]``.

        One actor after another, so that each counts what those before it did.

        Returns:
            ``φᵀ Σ_a φ`` as it was before, ``[L, K]`` float64; times β² the paper's equation 4.
        """
        counted = []
        rows = (self._first[:, None] + action).unbind(1)
        for row, phi in zip(rows, features.double().unbind(1), strict=True):
            before = self.matrices.index_select(0, row)
            projected = matvec(before, phi)
            inverse_count = dot(phi, projected)
            self.matrices.index_copy_(0, row, sherman_morrison(before, projected, inverse_count))
            counted.append(inverse_count)
        return torch.stack(counted, 1)

    def state_dict(self) -> dict[str, Any]:
        """The matrices."""
        return {"matrices": self.matrices.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self.matrices.copy_(state["matrices"])


def sherman_morrison(before: Tensor, projected: Tensor, inverse_count: Tensor) -> Tensor:
    """Equation 5: ``Σ⁺ = Σ − Σ φ φᵀ Σ / (1 + φᵀ Σ φ)``, ``[L, D, D]``.

    Args:
        before: Σ, ``[L, D, D]``.
        projected: ``Σ φ``, ``[L, D]``.
        inverse_count: ``φᵀ Σ φ``, ``[L]``.
    """
    outer = projected[:, :, None] * projected[:, None, :]
    return before - outer / (1 + inverse_count)[:, None, None]
