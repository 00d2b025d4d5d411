"""Moment matching across the Bellman equation (Markou & Rasmussen, app. MM)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from uqbench_ube.equation import solve_uncertainty

from uqbench.contract.agent import EnvironmentInfo
from uqbench_tabular.agents.config import MomentMatchingConfig
from uqbench_tabular.agents.factored_thompson import FactoredThompson
from uqbench_tabular.planning import greedy_policy, greedy_values


class MomentMatching(FactoredThompson):
    """Thompson noise from the epistemic variance of Q by moment matching.

    The epistemic equation, Bellman's for second moments, is an uncertainty Bellman equation whose
    local term is the variance of a backup
    (:meth:`~uqbench_tabular.posteriors.mdp_posterior.MDPPosterior.variance_of_backup`) rather than
    a bound of it: the first four terms of the paper's equation "epistemic" are
    ``Var_T[E r] + E_T[Var_R r̄] + 2γ Cov_T[E r, E V] + γ² Var_T[E V]``, of which the first, third
    and fourth are ``Var_T[E (r + γ V)]``; the fifth is what the equation propagates.

    Source: Markou & Rasmussen 2019, Algorithm MM
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: MomentMatchingConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device, "moment-matching/noise")
        self.noise = config.noise

    def variance(self, values: Tensor) -> Tensor:
        """``σ̃²_z*(s, a)``, by the definition that ``noise`` names, ``[L, S, A]``.

        Args:
            values: ``Q*`` of the posterior-mean MDP, ``[L, S, A]``.
        """
        mean = self.posterior.mean(self.available)
        policy = greedy_policy(values, self.available)
        following = greedy_values(values, self.available)
        local = self.posterior.variance_of_backup(following, self.discount)
        epistemic = solve_uncertainty(local, policy, mean.transitions, self.discount)
        if self.noise == "draft":
            return (epistemic - local) / self.discount**2
        if self.noise == "code":
            return epistemic / self.discount**2
        return epistemic
