"""The LaneEnv contract.

Autoreset happens in the same step: an :class:`Outcome` holds the last observation of an episode
(``next_obs``) and the first of the next (``obs``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import gymnasium
from torch import Tensor

from uqbench.contract.errors import CannotSaveError


class HasState(Protocol):
    """Has a state that can be saved and restored."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that it needs to go on from here."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""


@dataclass(frozen=True)
class TimeLimit:
    """The number of steps that ends an episode, and whether its last state counts as terminal."""

    steps: int
    kind: Literal["terminal", "truncation"]


@dataclass(frozen=True)
class Outcome:
    """The result of one step of all lanes.

    Attributes:
        reward: ``[L]`` float32.
        terminated: ``[L]`` bool.
        truncated: ``[L]`` bool.
        next_obs: ``[L, *obs]``, the final observation where an episode ended.
        obs: ``[L, *obs]`` to act on next: the first of a new episode where one ended.
        next_valid: ``[L, A]`` bool, valid actions in ``next_obs``; None where all are.
        valid: ``[L, A]`` bool, valid actions in ``obs``; None where all are.
        events: ``[L]`` float32 by name, how often each event happened in this step.
    """

    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    next_obs: Tensor
    obs: Tensor
    next_valid: Tensor | None = None
    valid: Tensor | None = None
    events: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class OptimalQ:
    """Exact action values, where an environment knows them.

    Attributes:
        obs: ``[M, *obs]``, the observations they belong to: every state, or a selection.
        values: ``[M, A]`` float64, Q* under the task's discount; NaN where an action is not
            available.
        return_atoms: ``[M, A, N]`` float64, the optimal policy's return distribution; None where
            that is not known.
        return_probs: ``[M, A, N]`` float64, its probabilities.
    """

    obs: Tensor
    values: Tensor
    return_atoms: Tensor | None = None
    return_probs: Tensor | None = None


class LaneEnv(ABC):
    """Independent copies of one environment that step together, lane ``i`` from ``seeds[i]``.

    Attributes:
        observation_space: of one lane.
        n_actions: A; actions are 0 to A − 1.
        capturable: whether ``step`` can be captured in a CUDA graph: it runs on its device alone,
            never synchronizes, and writes every outcome into the same tensors.
        stacks_frames: whether an observation is the last frames of its episode
            (see :class:`uqbench.contract.agent.EnvironmentInfo`).
    """

    observation_space: gymnasium.Space[Any]
    n_actions: int
    capturable: bool = False
    stacks_frames: bool = False

    @abstractmethod
    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Begin: observations ``[L, *obs]`` and valid actions ``[L, A]`` (None: all)."""

    @abstractmethod
    def step(self, action: Tensor) -> Outcome:
        """Take one action ``[L]`` in every lane."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that another copy needs to continue exactly as this one would.

        Called between two steps. Episodes under way, random streams, lengths: tensors, numbers,
        strings, bytes and None, in dictionaries and lists.

        Raises:
            CannotSaveError: it cannot be saved, which is the default; runs have no checkpoints.
        """
        raise CannotSaveError(f"{type(self).__name__} has no state_dict")

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()`` of a copy with the same seeds.

        Called instead of ``reset``.
        """
        raise CannotSaveError(f"{type(self).__name__} has no load_state_dict")

    def copy_lanes(
        self, into: Tensor, other: LaneEnv, lanes: Tensor, *, random_numbers: bool
    ) -> None:
        """Let lanes ``into`` ``[n]`` stand where ``lanes`` ``[n]`` of a copy ``other`` do.

        The next outcome of a lane is what the other's would be: with ``random_numbers`` for
        certain, without them in distribution, as this lane's own are kept. Uncertainty is scored by
        rollouts from such copies (:mod:`uqbench.uncertainty.rollouts`).

        Raises:
            CannotSaveError: lanes cannot be copied, which is the default.
        """
        raise CannotSaveError(f"{type(self).__name__} has no copy_lanes")
