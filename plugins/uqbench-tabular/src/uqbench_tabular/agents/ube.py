"""The uncertainty Bellman equation as a tabular agent (Markou & Rasmussen, app. UBE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from uqbench_ube.equation import solve_uncertainty
from uqbench_ube.local import dirichlet_moments, ratio

from uqbench.contract.agent import EnvironmentInfo
from uqbench_tabular.agents.config import UBEConfig
from uqbench_tabular.agents.factored_thompson import FactoredThompson
from uqbench_tabular.planning import greedy_policy
from uqbench_tabular.posteriors.mdp_posterior import MDPPosterior


class UBE(FactoredThompson):
    """Uncertainty Bellman equation: Thompson noise from a bound of Q's variance.

    The noise has variance ``ζ² u*``, where ``u*`` solves the equation without unrolling.

    Source: O'Donoghue et al. 2018; Markou & Rasmussen 2019, Algorithm UBE
    """

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: UBEConfig, device: torch.device
    ) -> None:
        super().__init__(info, seeds, config, device, "ube/noise")
        self.q_max = config.r_max / (1 - self.discount)
        self.bound_discount = self.discount if config.discount_bound else 1.0

    def variance(self, values: Tensor) -> Tensor:
        """``u*(s, a)``, lines 2 and 3: a bound of the epistemic variance (here a heuristic).

        Args:
            values: ``Q*`` of the posterior-mean MDP, ``[L, S, A]``.
        """
        mean = self.posterior.mean(self.available)
        policy = greedy_policy(values, self.available)
        local = local_uncertainty(self.posterior, self.q_max, self.bound_discount)
        return solve_uncertainty(local, policy, mean.transitions, self.discount)


class UBETerms(UBE):
    """UBE that reports the two terms of its local uncertainty, the supplement's bar chart.

    Source: Markou & Rasmussen 2019, supplement, UBE with ζ = 1 on DeepSea with N = 4
    """

    def metrics(self) -> Mapping[str, Tensor]:
        """Smallest and largest over the available (s, a), of either term and of their ratio."""
        reward, both = (
            local_uncertainty(self.posterior, q_max, self.bound_discount)
            for q_max in (0.0, self.q_max)
        )
        terms = {"reward_term": reward, "q_max_term": both - reward, "reward_share": reward / both}
        seen = self.available
        low = {f"{n}_low": t.masked_fill(~seen, torch.inf).amin((1, 2)) for n, t in terms.items()}
        high = {f"{n}_high": t.masked_fill(~seen, 0.0).amax((1, 2)) for n, t in terms.items()}
        return {**super().metrics(), **low, **high}


def local_uncertainty(posterior: MDPPosterior, q_max: float, discount: float) -> Tensor:
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
