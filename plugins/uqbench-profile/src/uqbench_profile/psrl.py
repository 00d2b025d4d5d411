"""Posterior sampling by one who knows the sea but not its action map: what can be had at best."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step, observation_shape
from uqbench.contract.specs import NoConfig
from uqbench.lanes import Uniform


class DeepSeaPSRL(Agent):
    """Dives to the treasure by a map drawn from the posterior for each episode.

    A cell's bit is known once an action was tried there, and a fair coin before. Right everywhere
    is optimal in any map. In half of the diagonal's N cells the map errs, once in each: the sea is
    solved by episode ``W + 5`` with ``W ~ Binomial(N, ½)``.

    Source: Osband, Russo & Van Roy 2013, "(More) efficient reinforcement learning via posterior
    sampling"
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: NoConfig,
        device: torch.device,
    ) -> None:
        self._size = size = math.isqrt(observation_shape(info)[0])
        self._drawn = Uniform(seeds, "map", (info.actors, size * size), device, block=1)
        self._known = torch.full((len(seeds), size * size), -1, dtype=torch.int64, device=device)
        self._t, self._actors = 0, info.actors

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Right, as the episode's map has it."""
        episode = self._t // self._actors // self._size
        drawn = (self._drawn.at(episode) < 0.5).long()
        return self._on_map(obs, drawn)

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Right where it is known, and action 0 elsewhere."""
        return self._on_map(
            obs, torch.zeros_like(self._known)[:, None].expand(-1, obs.shape[1], -1)
        )

    def _on_map(self, obs: Tensor, drawn: Tensor) -> Tensor:
        cell = obs.argmax(-1, keepdim=True)
        known = self._known[:, None].expand(-1, obs.shape[1], -1).gather(-1, cell)
        return torch.where(known >= 0, known, drawn.gather(-1, cell)).squeeze(-1)

    def observe(self, step: Step) -> None:
        """Learn the cell's bit: whether the diver moved to the right."""
        size = self._size
        cell, following = step.obs.argmax(-1), step.next_obs.argmax(-1)
        column, after = cell % size, following % size
        went_right = (after > column) | (after == size - 1)
        right = torch.where(went_right, step.action, 1 - step.action)
        self._known.scatter_(-1, cell, right)
        self._t += self._actors
