"""Environments whose lanes are stepped by kernels."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from uqbench.contract.environment import LaneEnv, Outcome


class Kernels(Protocol):
    """Interface of the kernels for CPUs and for CUDA."""

    def begin(self) -> None:
        """Begin an episode in all lanes."""

    def step(self) -> None:
        """Step all lanes."""


class KernelLanes(LaneEnv):
    """Environments that share their arrays with kernels.

    Results of ``step`` and ``reset`` are views of buffers that the next call overwrites. On a GPU a
    step copies the actions and launches one kernel on PyTorch's current stream, without
    synchronization, so that it can be part of a CUDA graph. An invalid action is an error on a CPU
    and does nothing on a GPU.

    Attributes:
        state: fields of ``arrays`` that the next step depends on.
        random_state: those of them that random numbers come from.
        arrays: a named tuple of tensors, first axis the lanes, ``action`` among them.
        outcome: views of ``arrays``.
        kernels: step the lanes.
    """

    capturable = True
    state: ClassVar[tuple[str, ...]]
    random_state: ClassVar[tuple[str, ...]]
    arrays: Any
    outcome: Outcome
    kernels: Kernels

    def step(self, action: Tensor) -> Outcome:
        """Take one action in every lane; the outcome is valid until the next call."""
        self.arrays.action.copy_(action)
        self.kernels.step()
        return self.outcome

    def state_dict(self) -> dict[str, Any]:
        """Copies of everything the next steps depend on, and of the current observations."""
        return {name: getattr(self.arrays, name).clone() for name in self.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        for name in self.state:
            getattr(self.arrays, name).copy_(state[name])

    def copy_lanes(
        self, into: Tensor, other: LaneEnv, lanes: Tensor, *, random_numbers: bool
    ) -> None:
        """Copy every array of the state, the observations among them."""
        if not isinstance(other, type(self)):
            raise TypeError(f"expected {type(self).__name__} to copy from; got {other!r}")
        for name in self.state:
            if random_numbers or name not in self.random_state:
                to, source = (_indexable(getattr(env.arrays, name)) for env in (self, other))
                to[into] = source[lanes]


def _indexable(array: Tensor) -> Tensor:
    """A view of the memory in a dtype that torch can index: it cannot index uint32."""
    return array.view(torch.int32) if array.dtype == torch.uint32 else array
