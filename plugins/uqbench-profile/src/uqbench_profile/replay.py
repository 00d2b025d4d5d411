"""Random actions until an episode pays, then that one again: a baseline where nothing is chance."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step
from uqbench.contract.specs import NoConfig
from uqbench.lanes import Uniform, greedy


class Replay(Agent):
    """Acts at random until an episode's rewards sum to more than 0, and repeats that from then on.

    It never looks at an observation. Episodes of all lanes end together.

    Source: uqbench
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: NoConfig,
        device: torch.device,
    ) -> None:
        self._draws = Uniform(seeds, "replay", (1, info.n_actions), device)
        self._dive = torch.zeros(len(seeds), 0, dtype=torch.int64, device=device)
        self._kept = self._dive
        self._paid = torch.zeros(len(seeds), dtype=torch.bool, device=device)
        self._return = torch.zeros(len(seeds), device=device)
        self._t = 0

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The step of the dive that paid, where there is one; else a random action."""
        action = greedy(self._draws.at(self._t), valid)
        row = self._dive.shape[1]
        if row < self._kept.shape[1]:
            action = torch.where(self._paid[:, None], self._kept[:, row, None], action)
        return action

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Action 0: what to repeat is no function of an observation."""
        return torch.zeros(obs.shape[:2], dtype=torch.int64, device=obs.device)

    def observe(self, step: Step) -> None:
        """Remember the step, and at its end the dive if it is the first that paid."""
        self._t += 1
        self._dive = torch.cat([self._dive, step.action], 1)
        self._return = self._return + step.reward[:, 0]
        ended = step.terminated | step.truncated
        if bool(ended.any() != ended.all()):
            raise ValueError("replay: expected the episodes of all lanes to end together")
        if bool(ended.any()):
            new = ~self._paid & (self._return > 0)
            kept = self._kept if self._kept.shape == self._dive.shape else self._dive
            self._kept = torch.where(new[:, None], self._dive, kept)
            self._paid = self._paid | new
            self._dive, self._return = self._dive[:, :0], torch.zeros_like(self._return)
