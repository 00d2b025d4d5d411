"""The contract of environments that step lanes of several tasks, padded, as one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Size, Tensor

from uqbench.contract.agent import Agent, Queried
from uqbench.contract.environment import LaneEnv


class SideBySide(LaneEnv):
    """Lanes of several tasks as one environment, those of a task together, without masks.

    Observations are padded to one shape. An agent of all these lanes computes in each what an agent
    of its task's lanes alone would.
    """

    @abstractmethod
    def begin(self, agent: Agent, own: Sequence[Mapping[str, Any]]) -> None:
        """Give an untrained agent of all lanes what untrained agents of each task export.

        Raises:
            Exception: the states do not fit; each task is a batch by itself then.
        """

    @abstractmethod
    def of_task(self, task: int, whole: Tensor, shape: Size | None) -> Tensor:
        """A task's own part, in its shape, of an agent's state, or of padded observations: None."""

    @abstractmethod
    def asked(self, agent: Queried, lanes: slice, total: int) -> Queried:
        """An agent of ``total`` lanes, asked about those of one task."""
