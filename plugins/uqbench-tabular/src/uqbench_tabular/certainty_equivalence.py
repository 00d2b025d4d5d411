"""The baseline: the posterior's mean taken for the truth, and exploration by chance."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.agent import EnvSpec
from uqbench.lanes import Uniform, epsilon_greedy
from uqbench_tabular.config import CertaintyEquivalenceConfig
from uqbench_tabular.model_based import ModelBased


class CertaintyEquivalence(ModelBased):
    """Acts ε-greedily in the posterior-mean MDP."""

    config: CertaintyEquivalenceConfig

    def __init__(
        self,
        spec: EnvSpec,
        seeds: Sequence[int],
        config: CertaintyEquivalenceConfig,
        device: torch.device,
    ) -> None:
        super().__init__(spec, seeds, config, device)
        self._explore = Uniform(seeds, "certainty-equivalence/explore", (2,), device)

    def make_plan(self) -> Tensor:
        """``Q*`` of the posterior-mean MDP."""
        return self.action_values()

    def choose(self, plan: Tensor, valid: Tensor) -> Tensor:
        """ε-greedy among the available actions."""
        return epsilon_greedy(plan, self._explore.at(self.t), self.config.epsilon, valid)
