"""What an agent declares so that its steps can be compiled, and captured in CUDA graphs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import ClassVar

from uqbench.lanes.clock import Clock


class Capturable:
    """Mixin of an :class:`uqbench.agent.Agent` whose steps differ in nothing but tensors.

    Where a budget's numerics are ``compiled``, the methods in ``compiled`` are compiled, and on a
    GPU whole steps, with the environment's, are captured once per phase and replayed.

    Attributes:
        compiled: names of methods from tensors to tensors, each called with tensors of one shape.
        clock: the step, which the agent reads from the clock's tensor and advances at the end of
            ``observe``.
    """

    compiled: ClassVar[tuple[str, ...]] = ()
    clock: Clock

    @abstractmethod
    def phase(self, t: int) -> Hashable:
        """What the host decides about step ``t``: steps of one phase are one graph."""
