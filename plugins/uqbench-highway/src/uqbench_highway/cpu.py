"""The lanes on the CPU: a compiled loop."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from numba import njit

from uqbench.errors import UqbenchError
from uqbench_highway.options import N_ACTIONS
from uqbench_highway.stepping import Lanes, Settings, begin_episode, step_lane


def _digest(folder: Traversable) -> str:
    """Of the package's sources."""
    digest = hashlib.sha256()
    sources = [*folder.iterdir(), *folder.joinpath("simulation").iterdir()]
    for source in sorted(sources, key=lambda source: source.name):
        if source.name.endswith(".py"):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _compiled_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that calls others, and keep it on disk.

    Numba finds it there by its name, and has a look only at the file that it is in to see whether
    it is out of date. With a digest of all sources in the name, it cannot be.
    """
    function.__qualname__ += _digest(files("uqbench_highway"))
    compiled: Callable[..., Any] = njit(
        cache=True, nogil=True, boundscheck=False, error_model="numpy"
    )(function)
    return compiled


@_compiled_once
def _step(settings: Any, lanes: Any) -> int:
    """Step all lanes, or none where an action is invalid: the lane with that action, else -1.

    Takes plain tuples, which Numba unpacks faster than named ones.
    """
    settings, lanes = Settings(*settings), Lanes(*lanes)
    for lane in range(len(lanes.action)):
        if not 0 <= lanes.action[lane] < N_ACTIONS:
            return lane
    for lane in range(len(lanes.action)):
        step_lane(settings, lanes, lane)
    return -1


@_compiled_once
def _begin(settings: Any, lanes: Any) -> None:
    """Begin an episode in all lanes."""
    settings, lanes = Settings(*settings), Lanes(*lanes)
    for lane in range(len(lanes.action)):
        begin_episode(settings, lanes, lane)


class Program:
    """The two functions, on the arrays that the tensors of ``lanes`` share."""

    def __init__(self, settings: Settings, lanes: Lanes) -> None:
        self._arrays = tuple(tensor.numpy() for tensor in lanes)
        self._settings = tuple(settings)
        self._lanes = lanes

    def begin(self) -> None:
        """Begin an episode in all lanes."""
        _begin(self._settings, self._arrays)

    def step(self) -> None:
        """Step all lanes.

        Raises:
            UqbenchError: an action is invalid; no lane was stepped.
        """
        invalid = _step(self._settings, self._arrays)
        if invalid >= 0:
            raise UqbenchError(
                f"the agent chose action {int(self._lanes.action[invalid])}; "
                f"expected a valid one of 0 to {N_ACTIONS - 1}"
            )
