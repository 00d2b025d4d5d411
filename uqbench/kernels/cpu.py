"""Lanes on the CPU: compiled loops over them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Protocol

from numba import njit

from uqbench.errors import UqbenchError


def compiled_once(package: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function that calls others of ``package``, and keep it on disk.

    Numba finds it there by its name, and has a look only at the file that it is in to see whether
    it is out of date. With a digest of all sources in the name, it cannot be.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__qualname__ += _digest(package)
        compiled: Callable[..., Any] = njit(
            cache=True, nogil=True, boundscheck=False, error_model="numpy"
        )(function)
        return compiled

    return decorate


def _digest(package: str) -> str:
    """Of the package's sources, and of what is shared by all that are compiled."""
    digest = hashlib.sha256()
    for source in (*_sources(files(package)), *_sources(files("uqbench") / "kernels")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith(".py"):
            yield entry


class Lanes(Protocol):
    """A named tuple of arrays, or of the tensors that share them, whose first axis is the lanes."""

    @property
    def action(self) -> Any:
        """The actions to be taken, ``[L]`` int64."""

    def __iter__(self) -> Iterator[Any]: ...


class Program:
    """Loops over the lanes, on the arrays that the tensors of ``lanes`` share.

    Args:
        begin: of (settings, arrays), begins an episode in all lanes.
        step: of (settings, arrays), steps all lanes, or none where an action is invalid: returns
            the lane with that action, else −1. Both take plain tuples, which Numba unpacks faster
            than named ones.
        settings: numbers that are the same for all lanes.
        lanes: tensors.
        n_actions: valid actions are 0 to ``n_actions − 1``.
    """

    def __init__(
        self,
        begin: Callable[..., Any],
        step: Callable[..., Any],
        settings: tuple[Any, ...],
        lanes: Lanes,
        n_actions: int,
    ) -> None:
        self._begin, self._step = begin, step
        self._settings, self._action = tuple(settings), lanes.action
        self._arrays = tuple(tensor.numpy() for tensor in lanes)
        self._n_actions = n_actions

    def begin(self) -> None:
        """Begin an episode in all lanes."""
        self._begin(self._settings, self._arrays)

    def step(self) -> None:
        """Step all lanes.

        Raises:
            UqbenchError: an action is invalid; no lane was stepped.
        """
        invalid = self._step(self._settings, self._arrays)
        if invalid >= 0:
            raise UqbenchError(
                f"the agent chose action {int(self._action[invalid])}; "
                f"expected a valid one of 0 to {self._n_actions - 1}"
            )
