"""Maps of all states of an environment, on which predictions are drawn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Beliefs = Mapping[str, NDArray[np.float64]]
"""Predictions at observations by name, a number an action; without what an agent does not state.

``mean`` is that of Q, ``epistemic`` the standard deviation of Q that more data would reduce,
``aleatoric`` that of the return that would remain.
"""


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
