"""Moment matching across the Bellman equation (Markou & Rasmussen, app. MM)."""

from __future__ import annotations

from torch import Tensor
from uqbench_ube.equation import solve_uncertainty

from uqbench_tabular.config import MomentMatchingConfig
from uqbench_tabular.gaussian_thompson import GaussianThompson


class MomentMatching(GaussianThompson):
    """Thompson noise of the epistemic variance that the second moments' Bellman equation gives.

    The epistemic equation is an uncertainty Bellman equation whose local term is the variance of a
    backup (:meth:`~uqbench_tabular.posterior.Posterior.variance_of_backup`) and not a bound of it:
    the first four terms of the paper's equation "epistemic" are
    ``Var_T[E r] + E_T[Var_R r̄] + 2γ Cov_T[E r, E V] + γ² Var_T[E V]``, of which the first, third
    and fourth are ``Var_T[E (r + γ V)]``; the fifth is what the equation propagates.
    """

    config: MomentMatchingConfig
    stream = "moment-matching"

    @property
    def zeta(self) -> float:
        """ζ."""
        return self.config.zeta

    def variance(self, values: Tensor) -> Tensor:
        """``σ̃²_z*(s, a)``, by the definition that the settings name."""
        local = self.posterior.variance_of_backup(self.greedy_values(values), self.discount)
        transitions = self.posterior.mean(self.available).transitions
        epistemic = solve_uncertainty(local, self.greedy_policy(values), transitions, self.discount)
        if self.config.noise == "draft":
            return (epistemic - local) / self.discount**2
        if self.config.noise == "code":
            return epistemic / self.discount**2
        return epistemic
