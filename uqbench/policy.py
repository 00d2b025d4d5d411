"""What evaluation and query states need of whoever acts, an ``Agent`` or a ``LoopAgent``."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from uqbench.agent import Uncertainty


class Policy(Protocol):
    """Something that acts."""

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Actions ``[L, M]`` of the evaluated policy for observations ``[L, M, *obs]``."""


class Queried(Policy, Protocol):
    """A policy that is asked how uncertain it is."""

    def uncertainty(self, obs: Tensor) -> Uncertainty | None:
        """Predictions for ``obs`` ``[L, M, *obs]``, or None where the agent makes none."""
