"""Entropic value at risk (Ahmadi-Javid 2012): coherent, but not a distortion of the CDF."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from uqbench.contract.risk.measure import OfLevel, RiskMeasure

if TYPE_CHECKING:  # imported where it computes: every command reads the names of measures
    from torch import Tensor

HALVINGS = 64
LOWEST, HIGHEST = -40.0, 20.0
"""Natural logarithms of the temperatures searched, for values scaled to [0, 1]."""


@dataclass(frozen=True)
class EVaR(OfLevel, RiskMeasure):
    """Entropic value at risk, a lower bound of CVaR.

    ``sup_{t>0} −t ln(E[exp(−Z/t)] / α)``: the tightest Chernoff lower bound of CVaR_α. In its dual
    form (Eriksson et al., Remark 12) the lowest mean among distributions Q with ``KL(Q ‖ P) ≤
    −ln α``. It is attained at ``Q_t ∝ P exp(−z/t)``, whose divergence decreases in t: t is
    found by bisection, with a fixed number of halvings. The paper's equation 6 is for costs,
    with 1 − α.

    Source: Ahmadi-Javid 2012
    """

    neutral: ClassVar[Mapping[str, float]] = {"alpha": 1.0}
    coherent = True

    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        """The bound at the best t, through which no gradient flows: the bound is flat there."""
        import torch

        values, probabilities = torch.broadcast_tensors(values, probabilities)
        z, p = values.movedim(dim, -1).double(), probabilities.movedim(dim, -1).double()
        p = p / p.sum(-1, keepdim=True)
        if self.alpha == 1:
            return (p * z).sum(-1).to(values.dtype)
        lowest, width = _range(z.detach(), p.detach())
        scaled = torch.where(p > 0, (z - lowest) / width, 0.0)
        log_p = torch.where(p > 0, p, 1.0).log().masked_fill(p == 0, -torch.inf)
        t = self._temperature(scaled.detach(), log_p.detach())
        bound = -t * (torch.logsumexp(log_p - scaled / t, -1, keepdim=True) - math.log(self.alpha))
        return (lowest + width * bound).squeeze(-1).to(values.dtype)

    def _temperature(self, scaled: Tensor, log_p: Tensor) -> Tensor:
        """The t with ``KL(Q_t ‖ P) = −ln α``, ``[..., 1]``; the lowest t where there is none."""
        import torch

        low = torch.full_like(scaled[..., :1], LOWEST)
        high = torch.full_like(low, HIGHEST)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            too_far = _divergence(scaled, log_p, middle.exp()) > -math.log(self.alpha)
            low, high = torch.where(too_far, middle, low), torch.where(too_far, high, middle)
        return high.exp()


def _range(z: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """The lowest value with mass, and the range of the values with mass; ``[..., 1]`` each."""
    import torch

    lowest = z.masked_fill(p == 0, torch.inf).amin(-1, keepdim=True)
    width = z.masked_fill(p == 0, -torch.inf).amax(-1, keepdim=True) - lowest
    return lowest, torch.where(width > 0, width, 1.0)


def _divergence(scaled: Tensor, log_p: Tensor, t: Tensor) -> Tensor:
    """``KL(Q_t ‖ P) = −E_Q[z]/t − ln E_P[exp(−z/t)]``, ``[..., 1]``."""
    import torch

    log_partition = torch.logsumexp(log_p - scaled / t, -1, keepdim=True)
    q = (log_p - scaled / t - log_partition).exp()
    return -(q * scaled).sum(-1, keepdim=True) / t - log_partition
