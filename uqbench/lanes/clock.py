"""The current step of all lanes, on the host and on the device; what a captured agent declares.

Steps are environment steps of a run: with K actors a vector step is K of them.

A captured CUDA graph replays what was recorded: a host number in it stays constant. Whatever
differs between two steps is therefore read from the clock's ``tensor``, in every mode, so that a
GPU runs what a CPU runs.
"""

from abc import abstractmethod
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

import torch


class Prepared(Protocol):
    """Something the host prepares for a step, such as random numbers."""

    def prepare(self, vector_step: int) -> None:
        """Prepare for a vector step, in place."""


class Clock:
    """Counts steps.

    Args:
        device: of the tensors.
        actors: K, environment steps of a vector step.

    Attributes:
        actors: K.
        t: the step, for the host's decisions: a step's phase.
        tensor: the same number, int64 ``[]`` on the device, for computations.
        vector_step: vector steps so far, int64 ``[]`` on the device.
        captured: whether a step is being captured: its numbers have to come from the tensors.
    """

    captured = False

    def __init__(self, device: torch.device, actors: int = 1) -> None:
        self.actors = actors
        self.t = 0
        self.tensor = torch.zeros((), dtype=torch.int64, device=device)
        self.vector_step = self.tensor if actors == 1 else torch.zeros_like(self.tensor)
        self._prepared: list[Prepared] = []

    def advance(self) -> None:
        """Go to the next vector step; called once per step, as its last operation."""
        self.tensor += self.actors
        if self.actors > 1:
            self.vector_step += 1
        if not self.captured:
            self.follow()

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """While a step is captured, ``advance`` does not advance the host: ``follow`` does."""
        self.captured = True
        try:
            yield
        finally:
            self.captured = False

    def follow(self) -> None:
        """Advance the host, after a graph has advanced the tensor."""
        self.t += self.actors
        self._prepare()

    def prepares(self, thing: Prepared) -> None:
        """Have the host prepare ``thing`` for every step from this one on."""
        self._prepared.append(thing)
        thing.prepare(self.t // self.actors)

    def state_dict(self) -> dict[str, Any]:
        """The step."""
        return {"t": self.t}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self.t = state["t"]
        self.tensor.fill_(self.t)
        self.vector_step.fill_(self.t // self.actors)
        self._prepare()

    def _prepare(self) -> None:
        for prepared in self._prepared:
            prepared.prepare(self.t // self.actors)


class Capturable:
    """Mixin for a :class:`uqbench.agent.Agent` whose steps differ only in the tensors' values.

    Where a budget's numerics are ``compiled``, the methods in ``compiled`` are compiled, and on a
    GPU whole steps, including the environment's, are captured once per phase and replayed.

    Attributes:
        compiled: names of methods from tensors to tensors, each always called with the same shapes.
        clock: the step; the agent reads it from the clock's tensor and advances it at the end of
            ``observe``.
        native: a function ``"package.module:name"`` of an agent of exactly this class, no child's,
            that replaces methods by kernels of its own where a budget's numerics are ``native``;
            it returns why there are none for this agent, or an empty string.
    """

    compiled: ClassVar[tuple[str, ...]] = ()
    native: ClassVar[str] = ""
    clock: Clock

    @abstractmethod
    def phase(self, t: int) -> Hashable:
        """The host's decisions at step ``t``; steps of one phase share a graph."""
