"""An environment whose lanes are stepped by a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from torch import Tensor

from uqbench.environment import LaneEnv, Outcome


class Program(Protocol):
    """What :mod:`uqbench.kernels.cpu` and :mod:`uqbench.kernels.cuda` have in common."""

    def begin(self) -> None:
        """Begin an episode in all lanes."""

    def step(self) -> None:
        """Step all lanes."""


class KernelLanes(LaneEnv):
    """Environments that share their arrays with a program.

    ``step`` and ``reset`` write to buffers, which their results share: they are overwritten by the
    next call. On a GPU a step is a copy of the actions and the launch of one kernel on PyTorch's
    current stream, without a synchronisation, so that it can be part of a CUDA graph; an invalid
    action does nothing there. On a CPU it is an error.

    Attributes:
        state: fields of ``arrays`` that the next step goes on from.
        arrays: a named tuple of tensors, their first axis the lanes; ``action`` among them.
        outcome: of views of them.
        program: steps them.
    """

    capturable = True
    state: ClassVar[tuple[str, ...]]
    arrays: Any
    outcome: Outcome
    program: Program

    def step(self, action: Tensor) -> Outcome:
        """Take one action in every lane; the outcome holds until the next call."""
        self.arrays.action.copy_(action)
        self.program.step()
        return self.outcome

    def state_dict(self) -> dict[str, Any]:
        """All that the next steps depend on, and the current observations; copies."""
        return {name: getattr(self.arrays, name).clone() for name in self.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``state_dict`` gave."""
        for name in self.state:
            getattr(self.arrays, name).copy_(state[name])
