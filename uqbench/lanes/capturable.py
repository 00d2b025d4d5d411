"""What an agent declares so that its steps can be compiled and captured in CUDA graphs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import ClassVar

from uqbench.lanes.clock import Clock


class Capturable:
    """Mixin for an :class:`uqbench.agent.Agent` whose steps differ only in the tensors' values.

    Where a budget's numerics are ``compiled``, the methods in ``compiled`` are compiled, and on a
    GPU whole steps, including the environment's, are captured once per phase and replayed.

    Attributes:
        compiled: names of methods from tensors to tensors, each always called with the same shapes.
        clock: the step; the agent reads it from the clock's tensor and advances it at the end of
            ``observe``.
    """

    compiled: ClassVar[tuple[str, ...]] = ()
    clock: Clock

    @abstractmethod
    def phase(self, t: int) -> Hashable:
        """The host's decisions at step ``t``; steps of one phase share a graph."""
