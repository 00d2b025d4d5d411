"""The arrays of one lane, as the functions that step it take them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

State: TypeAlias = NDArray[np.int32]  # a game's, of one lane
Stream: TypeAlias = NDArray[np.uint32]  # random numbers, see uqbench_minatar.random
Obs: TypeAlias = NDArray[np.uint8]  # an observation [C * 100] of one lane: channel, row, column
