"""Posterior over the MDPs that may have generated the data (Markou & Rasmussen, app. PSRL).

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

from uqbench_tabular.planning import MDP
from uqbench_tabular.posteriors.dirichlet import (
    dirichlet_mean,
    dirichlet_sample,
    dirichlet_update,
    variance_of_expectation,
)
from uqbench_tabular.posteriors.normal_gamma import (
    NormalGamma,
    normal_gamma_update,
    sample_mean,
    variance_of_mean,
)


@dataclass(frozen=True)
class MDPPosterior:
    """What the data say about the MDP; every table is ``[L, S, A, S']`` float64.

    Attributes:
        counts: c, the Dirichlet's parameters.
        rewards: the normal-gamma's.
    """

    counts: Tensor
    rewards: NormalGamma

    @classmethod
    def prior(
        cls,
        shape: tuple[int, int, int],
        *,
        counts: float,
        rewards: tuple[float, float, float, float],
        device: torch.device,
    ) -> MDPPosterior:
        """No data yet: the same prior for every successor.

        Args:
            shape: ``(L, S, A)``.
            counts: c, of every successor.
            rewards: ``(μ₀, λ, α, β)`` of the normal-gamma.
            device: where the tables go.
        """
        _, states, _ = shape
        tables = (*shape, states)
        c = torch.full(tables, counts, dtype=torch.float64, device=device)
        return cls(c, NormalGamma.filled(tables, rewards, device))

    def updated(
        self, state: Tensor, action: Tensor, reward: Tensor, following: Tensor
    ) -> MDPPosterior:
        """The posterior after one more transition in every lane, each ``[L]``."""
        lanes = torch.arange(len(state), device=state.device)
        at = (lanes, state, action, following)
        before = self.rewards.map(lambda table: table[at])
        return MDPPosterior(
            self.counts.index_put(at, dirichlet_update(self.counts[at])),
            self.rewards.replaced(at, normal_gamma_update(before, reward.double())),
        )

    def mean(self, available: Tensor) -> MDP:
        """The posterior-mean MDP, ``[L, S, A, …]``: transitions and rewards are independent."""
        return MDP(dirichlet_mean(self.counts), self.rewards.mu0, available)

    def variance_of_backup(self, values: Tensor, discount: float) -> Tensor:
        """Epistemic variance of a backup of *known* values: of ``Σ_s' p(s') (r̄(s') + γ V(s'))``.

        ``Var_p[Σ_s' p(s') (μ₀(s') + γ V(s'))] + Σ_s' E[p(s')] Var[r̄(s')]``: the
        uncertainty about the dynamics, with rewards at their means, plus the uncertainty about
        rewards. With ``γ = 0`` it is the variance of the expected reward.

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
            generators: one per lane; a lane's MDPs depend on its own generator alone.
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
    def from_state_dict(cls, state: Mapping[str, Tensor]) -> MDPPosterior:
        """The posterior that ``state_dict`` described."""
        rewards = {name: table for name, table in state.items() if name != "counts"}
        return cls(state["counts"], NormalGamma(**rewards))
