"""The uncertainty Bellman equation as a tabular agent (Markou & Rasmussen, app. UBE)."""

from __future__ import annotations

from torch import Tensor
from uqbench_ube.equation import solve_uncertainty
from uqbench_ube.local import dirichlet_moments, ratio

from uqbench_tabular.config import UBEConfig
from uqbench_tabular.gaussian_thompson import GaussianThompson
from uqbench_tabular.posterior import Posterior


class UBE(GaussianThompson):
    """Thompson noise of variance ``ζ² u*``, where ``u*`` solves the UBE without unrolling."""

    config: UBEConfig
    stream = "ube"

    @property
    def zeta(self) -> float:
        """ζ."""
        return self.config.zeta

    def variance(self, values: Tensor) -> Tensor:
        """``u*(s, a)``, lines 2 and 3: a bound of the epistemic variance (a heuristic here)."""
        bound = self.config.r_max / (1 - self.discount)
        local = local_uncertainty(self.posterior, bound, self.bound_discount)
        transitions = self.posterior.mean(self.available).transitions
        return solve_uncertainty(local, self.greedy_policy(values), transitions, self.discount)

    @property
    def bound_discount(self) -> float:
        """γ where the local uncertainty discounts ``Q_max``, else 1."""
        return self.discount if self.config.discount_bound else 1.0


def local_uncertainty(posterior: Posterior, q_max: float, discount: float) -> Tensor:
    """Equation "local uncertainty": ``ν = Var[E r] + γ² Q²_max Σ_s' Var p(s') / E p(s')``.

    The variance of the expected reward is due to rewards and to dynamics. With Dirichlet posteriors
    of total count n the sum is ``(S − 1) / (n + 1)``.

    Args:
        posterior: p(θ | D).
        q_max: ``Q_max = R_max / (1 − γ)``.
        discount: γ on ``Q_max``; Markou & Rasmussen have none, that is 1.

    Returns:
        ``[L, S, A]``.
    """
    reward_var = posterior.variance_of_backup(posterior.counts.new_zeros(1, 1), discount=0.0)
    return ratio(dirichlet_moments(posterior.counts, reward_var), q_max, discount)
