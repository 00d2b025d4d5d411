"""Posterior sampling for reinforcement learning (Markou & Rasmussen, Algorithm PSRL)."""

from __future__ import annotations

from torch import Tensor

from uqbench.lanes import generators, greedy
from uqbench_tabular.model_based import ModelBased
from uqbench_tabular.planning import policy_iteration


class PSRL(ModelBased):
    """Acts optimally in an MDP drawn from the posterior, until it draws the next (Strens 2000)."""

    def make_plan(self) -> Tensor:
        """Lines 3 and 4: ``Q̂*`` of ``θ̂_T ~ p(θ_T | D)`` and ``θ̂_R ~ p(θ_R | D)``."""
        draws = generators(self.seeds, "psrl/plan", self.t)
        mdp = self.posterior.sample(draws, 1, self.available)
        return policy_iteration(mdp, self.discount)[:, 0]

    def choose(self, plan: Tensor, valid: Tensor) -> Tensor:
        """Line 6: ``π̂*(s) = argmax_a Q̂*(s, a)``."""
        return greedy(plan, valid)
