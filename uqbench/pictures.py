"""What an environment's plugin may draw: pictures of observations, and a map of all states.

Pictures are of what the agent observes, so that any environment can be drawn, whoever simulates it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Frame = NDArray[Any]
"""A picture, ``[H, W, 3]`` uint8: red, green, blue."""


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
