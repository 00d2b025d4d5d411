"""Rows that a score of widths must tell from methods: the prior, three empty rules, and σ/√n.

All know the worlds of ``gaussian-values``. None of the three rules heeds both the noise and the
number of rewards; the size of each is chosen in hindsight, by its score in these worlds: no method
is to need as much luck. The standard error of a mean uses both, but no prior.
"""

from __future__ import annotations

import torch
from torch import Tensor

from uqbench_tabular.agents.gaussian_posterior import GaussianPosterior

DOUBT, OF_NOISE, OF_DATA = 0.242, 0.125, 0.5
"""Standard deviations of a mean reward: itself, over σ, times √n."""


class GaussianPrior(GaussianPosterior):
    """The prior, whatever is seen.

    Source: uqbench
    """

    def _moments(self) -> tuple[Tensor, Tensor]:
        return torch.zeros_like(self._sum), torch.ones_like(self._sum)


class OneDoubt(GaussianPosterior):
    """The mean of what is seen, with the same doubt about every reward in every task.

    Source: uqbench
    """

    def _doubt(self) -> float:
        return DOUBT

    def _moments(self) -> tuple[Tensor, Tensor]:
        fitted = self._sum / self._count.clamp(min=1)
        return fitted @ self._to_values.mT, torch.full_like(fitted, self._doubt() ** 2)


class NoiseAlone(OneDoubt):
    """The same, its doubt a share of the noise: noise taken for ignorance.

    Source: uqbench
    """

    def _doubt(self) -> float:
        return OF_NOISE * self.config.sigma


class DataAlone(OneDoubt):
    """The same, its doubt falling with the number of rewards, whatever their noise.

    Source: uqbench
    """

    def _doubt(self) -> float:
        return float(OF_DATA * self.config.n**-0.5)


class NoiseOverData(OneDoubt):
    """The same, its doubt the standard error σ/√n of a mean: noise and count, but no prior.

    Source: uqbench
    """

    def _doubt(self) -> float:
        return float(self.config.sigma * self.config.n**-0.5)
