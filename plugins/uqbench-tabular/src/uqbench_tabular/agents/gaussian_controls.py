"""Rows that a score of joint predictions must tell from methods: the prior, and one doubt for all.

Both know the worlds of ``gaussian-values``; neither knows of any pair how much was seen of it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from uqbench_tabular.agents.gaussian_posterior import GaussianPosterior

SHRINKAGE, DOUBT = 0.8, 0.2
"""Chosen in hindsight, by their score on these worlds: no method is to need as much luck."""


class GaussianPrior(GaussianPosterior):
    """The prior, whatever is seen.

    Source: uqbench
    """

    def _moments(self) -> tuple[Tensor, Tensor]:
        return torch.zeros_like(self._sum), torch.ones_like(self._sum)


class OneDoubt(GaussianPosterior):
    """The mean of what is seen, times .8, with the same doubt about every pair, in every world.

    A standard deviation of .2 of each value by itself, and of ``.2/(1 − γ)`` of all together.

    Source: uqbench
    """

    def _stated(self) -> tuple[Tensor, Tensor, Tensor]:
        fitted = self._sum / self._count.clamp(min=1)
        mean = SHRINKAGE * fitted @ self._to_values.mT
        pairs = mean.shape[1]
        largest = self._to_values.sum(-1, keepdim=True)  # 1 / (1 − γ), of every pair
        root = DOUBT * torch.cat([torch.eye(pairs).to(largest), largest], 1)
        signs = torch.eye(pairs + 1).to(largest)
        directions = math.sqrt((2 * pairs + 1) / 2) * torch.cat([signs, -signs], 1)
        samples = mean[..., None] + root @ directions
        return mean, root.square().sum(-1).expand_as(mean), samples
