"""What an environment's plugin may draw: a map of all states, on which predictions are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class StateMap:
    """The states of a small environment, and where each is drawn.

    Attributes:
        obs: ``[M, *obs]``, the observation of each state.
        places: ``[M, 2]`` int, its row and column on the map.
        actions: name of each action.
    """

    obs: NDArray[Any]
    places: NDArray[Any]
    actions: tuple[str, ...]
