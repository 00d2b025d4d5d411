"""Posterior sampling for reinforcement learning (Markou & Rasmussen, Algorithm PSRL)."""

from __future__ import annotations

from torch import Tensor

from uqbench.lanes import generators, greedy
from uqbench_tabular.agents.model_based import ModelBased
from uqbench_tabular.planning import policy_iteration


class PSRL(ModelBased):
    """Posterior sampling: acts optimally in an MDP drawn from the posterior.

    One draw is followed until the next plan.

    Source: Strens 2000; Osband et al. 2013; Markou & Rasmussen 2019, Algorithm PSRL
    """

    def make_plan(self) -> Tensor:
        """Lines 3 and 4: ``Q̂*`` of ``θ̂_T ~ p(θ_T | D)`` and ``θ̂_R ~ p(θ_R | D)``."""
        draws = generators(self.seeds, "psrl/plan", self.t)
        mdp = self.posterior.sample(draws, 1, self.available)
        return policy_iteration(mdp, self.discount)[:, 0]

    def choose(self, plan: Tensor, valid: Tensor) -> Tensor:
        """Line 6: ``π̂*(s) = argmax_a Q̂*(s, a)``."""
        return greedy(plan, valid)
