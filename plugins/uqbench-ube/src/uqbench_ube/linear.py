"""The local uncertainty of linear values (O'Donoghue et al. 2018, section 4, equations 4 and 5).

Shapes: ``L`` lanes, ``A`` actions, ``D`` features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from uqbench.lanes.numerics import dot, matvec


class InverseCounts:
    """``Σ_a = (μ⁻¹ I + Φ_aᵀ Φ_a)⁻¹`` of every lane and action; ``φᵀ Σ_a φ`` is taken for ``1 / n``.

    Kept in float64, in which the updates leave it symmetric (exactly with one actor, because a
    rank-one update is) and positive definite for as many steps as runs have.

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

        Actors in order, so that each counts what those before it did.

        Returns:
            ``φᵀ Σ_a φ`` as it was before, ``[L, K]`` float64; times β² the paper's equation 4.
        """
        features = features.double()
        if action.shape[1] > 1:
            return self._update_together(features, action)
        row, phi = self._first + action[:, 0], features[:, 0]
        before = self.matrices.index_select(0, row)
        projected = matvec(before, phi)
        inverse_count = dot(phi, projected)
        self.matrices.index_copy_(0, row, sherman_morrison(before, projected, inverse_count))
        return inverse_count.unsqueeze(1)

    def _update_together(self, features: Tensor, action: Tensor) -> Tensor:
        """Equation 5 for all actors of an action at once (Woodbury).

        With ``R Rᵀ = I + Φ Σ Φᵀ``, R lower triangular, ``Σ⁺ = Σ − Yᵀ Y``, ``Y = R⁻¹ Φ Σ``; the k-th
        actor's ``φᵀ Σ φ``, after those before it, is ``R_kk² − 1``.
        """
        taken = functional.one_hot(action, len(self.matrices) // len(action)).mT
        rows = (taken[..., None] * features[:, None]).flatten(0, 1)  # [L · A, K, D], 0: not taken
        projected = torch.bmm(rows, self.matrices)
        gram = torch.bmm(projected, rows.mT)
        gram.diagonal(dim1=1, dim2=2).add_(1)
        root = torch.linalg.cholesky_ex(gram).L  # on a GPU cholesky would wait for its check
        y = torch.linalg.solve_triangular(root, projected, upper=False)
        self.matrices.baddbmm_(y.mT, y, alpha=-1)
        counted = root.diagonal(dim1=1, dim2=2).square().sub(1).clamp(min=0)
        of_action: Tensor = counted.unflatten(0, taken.shape[:2])
        return of_action.sum(1)

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
