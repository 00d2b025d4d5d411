"""A coin that is thrown now and then: how far one gets in a sea without looking at it."""

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
    """A uniformly random action, drawn every ``hold`` steps; evaluation draws in each step."""

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
        """The action of this stretch; where it is not valid, another."""
        stretch = self._t // self._actors // self._hold
        return random_action(self._draws.at(stretch), self._n_actions, valid)
