"""Posterior over the MDPs that may have given the data (Markou & Rasmussen, appendix on PSRL).

A Dirichlet over ``p(s' | s, a)`` for every (s, a), and a normal-gamma over mean and precision of
``r`` for every (s, a, s'); both are conjugate, and independent of each other. Shapes: ``L`` lanes,
``K`` samples, ``S`` states, ``A`` actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from uqbench_tabular.config import TabularConfig
from uqbench_tabular.dirichlet import (
    dirichlet_mean,
    dirichlet_sample,
    dirichlet_update,
    variance_of_expectation,
)
from uqbench_tabular.normal_gamma import (
    NormalGamma,
    normal_gamma_update,
    sample_mean,
    variance_of_mean,
)
from uqbench_tabular.planning import MDP


@dataclass(frozen=True)
class Posterior:
    """What the data say about the MDP; every field is ``[L, S, A, S']`` float64.

    Attributes:
        counts: c, the Dirichlet's parameters.
        rewards: the normal-gamma's.
    """

    counts: Tensor
    rewards: NormalGamma

    @classmethod
    def prior(
        cls, lanes: int, states: int, actions: int, config: TabularConfig, device: torch.device
    ) -> Posterior:
        """No data yet: the same prior everywhere."""
        c, mu0, lam, alpha, beta = (
            torch.full((lanes, states, actions, states), value, dtype=torch.float64, device=device)
            for value in (
                config.prior_counts,
                config.prior_mu0,
                config.prior_lam,
                config.prior_alpha,
                config.prior_beta,
            )
        )
        return cls(c, NormalGamma(mu0, lam, alpha, beta))

    def given(self, state: Tensor, action: Tensor, reward: Tensor, following: Tensor) -> Posterior:
        """The posterior after one more transition in every lane, each ``[L]``."""
        lanes = torch.arange(len(state), device=state.device)
        at = (lanes, state, action, following)
        before = self.rewards.map(lambda table: table[at])
        return Posterior(
            self.counts.index_put(at, dirichlet_update(self.counts[at])),
            self.rewards.replaced(at, normal_gamma_update(before, reward.double())),
        )

    def mean(self, available: Tensor) -> MDP:
        """The posterior-mean MDP ``[L, S, A, …]``; transitions and rewards are independent."""
        return MDP(dirichlet_mean(self.counts), self.rewards.mu0, available)

    def variance_of_backup(self, values: Tensor, discount: float) -> Tensor:
        """Epistemic variance of a backup of *known* values: of ``Σ_s' p(s') (r̄(s') + γ V(s'))``.

        ``Var_p[Σ_s' p(s') (μ₀(s') + γ V(s'))] + Σ_s' E[p(s')] Var[r̄(s')]``: what is not known about
        the dynamics, where rewards are their means, and what is not known about rewards. With
        ``γ = 0`` the variance of the expected reward.

        Args:
            values: V, ``[L, S]``.
            discount: γ.

        Returns:
            ``[L, S, A]``, never negative.
        """
        worth = self.rewards.mu0 + discount * values[:, None, None, :]
        of_rewards = (dirichlet_mean(self.counts) * variance_of_mean(self.rewards)).sum(-1)
        return variance_of_expectation(self.counts, worth) + of_rewards

    def sample(
        self, generators: Sequence[np.random.Generator], count: int, available: Tensor
    ) -> MDP:
        """``count`` MDPs ``[L, K, S, A, …]``: ``θ̂_T ~ p(θ_T | D)``, ``θ̂_R ~ p(θ_R | D)``.

        Args:
            generators: one a lane; a lane's MDPs depend on its own alone.
            count: K.
            available: ``[L, S, A]`` bool.
        """
        transitions = dirichlet_sample(self.counts, generators, count)
        rewards = sample_mean(self.rewards, generators, count)
        return MDP(transitions, rewards, available[:, None].expand(transitions.shape[:-1]))

    def state_dict(self) -> dict[str, Tensor]:
        """Every parameter by name."""
        return {"counts": self.counts, **self.rewards.fields()}

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Tensor]) -> Posterior:
        """The posterior that ``state_dict`` described."""
        rewards = {name: table for name, table in state.items() if name != "counts"}
        return cls(state["counts"], NormalGamma(**rewards))
