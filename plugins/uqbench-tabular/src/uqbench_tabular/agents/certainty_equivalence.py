"""Certainty equivalence: the posterior mean is taken for the truth, and exploration is random."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo
from uqbench_tabular.agents.config import CertaintyEquivalenceConfig
from uqbench_tabular.agents.exploration import EpsilonGreedy
from uqbench_tabular.agents.model_based import ModelBased


class CertaintyEquivalence(ModelBased):
    """Acts ε-greedily in the posterior-mean MDP.

    Source: the same model as PSRL, with undirected exploration
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: CertaintyEquivalenceConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device)
        self.exploration = EpsilonGreedy(
            config.epsilon, seeds, "certainty-equivalence/explore", device
        )

    def make_plan(self) -> Tensor:
        """``Q*`` of the posterior-mean MDP."""
        return self.action_values()

    def choose(self, plan: Tensor, valid: Tensor) -> Tensor:
        """ε-greedy among the available actions."""
        return self.exploration.choose(plan, self.t, valid)
