"""What all tabular agents share: numbered states, a continuing task, and the masks seen so far."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step
from uqbench.lanes import greedy


class TabularAgent(Agent):
    """An agent for continuing tasks with numbered states.

    An action counts as available until its state's mask has been seen.

    Attributes:
        t: steps taken.
        shape: ``(L, S, A)``.
        available: ``[L, S, A]`` bool.

    Raises:
        TypeError: the observation space is not ``Discrete`` starting at 0.
        ValueError: the discount is 1, where Q* of a continuing task is not finite.
    """

    def __init__(self, info: EnvironmentInfo, seeds: Sequence[int], device: torch.device) -> None:
        space = info.observation_space
        if not isinstance(space, spaces.Discrete) or space.start != 0:
            raise TypeError(f"expected observations that are Discrete from 0, got {space}")
        if info.discount >= 1:
            raise ValueError(f"expected a discount below 1, got {info.discount}")
        self.discount = info.discount
        self.seeds = tuple(seeds)
        self.lanes = torch.arange(len(seeds), device=device)
        self.t = 0
        self.shape = (len(seeds), int(space.n), info.n_actions)
        self.available = torch.ones(self.shape, dtype=torch.bool, device=device)

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The action of each lane's one actor."""
        return self.act_in(obs[:, 0], None if valid is None else valid[:, 0])[:, None]

    def observe(self, step: Step) -> None:
        """Learn from each lane's one actor.

        Raises:
            ValueError: an episode ended.
        """
        self.learn(step.of_actor())

    @abstractmethod
    def act_in(self, obs: Tensor, valid: Tensor | None) -> Tensor:
        """Training actions ``[L]`` in states ``[L]``, among ``valid`` ``[L, A]``."""

    @abstractmethod
    def learn(self, step: Step) -> None:
        """Learn from one transition of every lane, whose fields are ``[L]``.

        Raises:
            ValueError: an episode ended.
        """

    @abstractmethod
    def action_values(self) -> Tensor:
        """The values ``[L, S, A]`` in which the evaluated policy is greedy."""

    def remember_mask(self, obs: Tensor, valid: Tensor | None) -> Tensor:
        """Remember the masks of states ``obs`` ``[L]``, and return what is known: ``[L, A]``."""
        if valid is not None:
            self.available = self.available.index_put((self.lanes, obs), valid)
        return self.available[self.lanes, obs]

    def require_continuing(self, step: Step) -> None:
        """Check that no episode ended.

        Raises:
            ValueError: one did; these agents are for continuing tasks.
        """
        if (step.terminated | step.truncated).any():
            raise ValueError(
                f"an episode ended at step {self.t}: {type(self).__name__} expects a continuing "
                f"task; remove its time limit or choose another method"
            )

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Greedy in :meth:`action_values`."""
        values = at_states(self.action_values(), obs)
        return greedy(values, at_states(self.available, obs) if valid is None else valid)


def at_states(table: Tensor, obs: Tensor) -> Tensor:
    """Rows of ``[L, S, …]`` for states ``[L, M]``: ``[L, M, …]``."""
    lanes = torch.arange(len(obs), device=obs.device)
    return table[lanes[:, None], obs]
