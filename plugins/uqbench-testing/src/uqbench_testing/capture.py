"""Capture without a GPU, to test that steps of one phase differ only in the tensors' values.

The operations of one step are recorded with the tensors they read and wrote; the graph executes
them again on the same memory, as a CUDA graph does. A host number that found its way into a step
stays constant, so the captured run differs from the one executed from Python.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from uqbench.runner.train.compiling import Graph


def simulated(step: Callable[[], None]) -> Graph:
    """Record a step while executing it; the first replay therefore does nothing."""
    recording = _Recording()
    with recording:
        step()
    executed = True

    def replay() -> None:
        nonlocal executed
        if not executed:
            recording.replay()
        executed = False

    return replay


class _Recording(TorchDispatchMode):
    """The operations of a step, each with its arguments and the tensors it returned."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._operations: list[tuple[Callable[..., Any], Any, Any, list[Tensor]]] = []

    def __torch_dispatch__(
        self, function: Callable[..., Any], types: Sequence[Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        self._operations.append((function, args, kwargs or {}, _tensors(result)))
        return result

    def replay(self) -> None:
        with torch.no_grad():
            for function, args, kwargs, tensors in self._operations:
                for tensor, new in zip(tensors, _tensors(function(*args, **kwargs)), strict=True):
                    if new.data_ptr() != tensor.data_ptr():  # neither a view nor in place
                        tensor.copy_(new)


def _tensors(result: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
