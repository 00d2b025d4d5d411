"""The exact posterior of the worlds of ``gaussian-values``, as an agent; and few draws from it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step, Uncertainty
from uqbench.lanes import Normal
from uqbench_tabular.agents.config import GaussianDrawsConfig
from uqbench_tabular.environments.config import GaussianValuesConfig
from uqbench_tabular.environments.gaussian_values import (
    ACTIONS,
    PAIRS,
    PLACE,
    STATES,
    values_of_rewards,
)


class GaussianPosterior(Agent):
    """Bayes' rule for normal means with known noise, and the values that follow from them.

    Source: uqbench; Bishop 2006, section 2.3.6
    """

    _dof = math.inf

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: GaussianValuesConfig,
        device: torch.device,
    ) -> None:
        self.config = config
        self._precision = max(config.sigma, 1e-9) ** -2
        order = torch.tensor(PLACE, device=device)
        self._to_values = values_of_rewards(info.discount).to(device)[order][:, order]
        self._count = torch.zeros(len(seeds), PAIRS, dtype=torch.float64, device=device)
        self._sum = torch.zeros_like(self._count)
        root = math.sqrt((2 * PAIRS - 1) / 2)
        signs = torch.eye(PAIRS, dtype=torch.float64, device=device)
        self._directions = root * torch.cat([signs, -signs], 1)  # of mean 0 and variance 1

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The policy's actions."""
        return self.policy(obs, valid)

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The valid action, where there is one; else the greedy one."""
        values = self._moments()[0].unflatten(1, (STATES, ACTIONS))
        of_obs = obs.double() @ values
        known = of_obs if valid is None else of_obs.masked_fill(~valid, -torch.inf)
        best: Tensor = known.argmax(-1)
        return best

    def observe(self, step: Step) -> None:
        """Count rewards; those of resting, where nothing is observed, belong to no pair."""
        pair = 2 * step.obs.argmax(-1) + step.action
        shown = step.obs.sum(-1).double()
        self._count.scatter_add_(1, pair, shown)
        self._sum.scatter_add_(1, pair, shown * step.reward)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Mean and variance of Q, and samples with exactly these and their covariances."""
        mean, var, samples = self._stated()
        states = obs.double()
        shape = (STATES, ACTIONS)

        def asked(values: Tensor) -> Tensor:
            found: Tensor = torch.einsum("lms,lsa...->lma...", states, values.unflatten(1, shape))
            return found

        return Uncertainty(
            mean=asked(mean),
            epistemic_var=asked(var),
            epistemic_dof=torch.full_like(asked(mean), self._dof),
            value_samples=asked(samples),
        )

    def _stated(self) -> tuple[Tensor, Tensor, Tensor]:
        """Means, variances and samples of Q, ``[L, 8]`` twice and ``[L, 8, K]``."""
        mean, var = self._moments()
        samples = mean[..., None] + self._to_values @ (var.sqrt()[..., None] * self._directions)
        return mean, var @ self._to_values.square().mT, samples

    def _moments(self) -> tuple[Tensor, Tensor]:
        """Means of Q and variances of the mean rewards, ``[L, 8]`` each."""
        var = 1 / (1 + self._count * self._precision)
        return (var * self._sum * self._precision) @ self._to_values.mT, var


class GaussianDraws(GaussianPosterior):
    """What K independent draws from the posterior state: their own mean and variance.

    Source: uqbench
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: GaussianDrawsConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device)
        drawn = Normal(seeds, "gaussian-draws/reward", (PAIRS, config.draws), device).at(0)
        self._drawn = drawn.double()
        self._dof = config.draws - 1

    def _stated(self) -> tuple[Tensor, Tensor, Tensor]:
        mean, var = self._moments()
        samples = mean[..., None] + self._to_values @ (var.sqrt()[..., None] * self._drawn)
        return samples.mean(-1), samples.var(-1, correction=1), samples
