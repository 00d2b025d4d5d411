"""A baseline that holds random actions: how far one gets in DeepSea without looking at it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo
from uqbench.lanes.random import random_action
from uqbench.registry.builtin.configs import UniformRandomConfig
from uqbench.registry.builtin.trivial import UniformRandom
from uqbench_tabular.agents.config import HeldActionConfig


class HeldAction(UniformRandom):
    """A uniformly random action, drawn every ``hold`` steps; in evaluation, at each step."""

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: HeldActionConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, UniformRandomConfig(), device)
        self._hold = config.hold

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The action held now; another one where it is not valid."""
        stretch = self._t // self._actors // self._hold
        return random_action(self._draws.at(stretch), self._n_actions, valid)
