"""Types of the arrays of one lane."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

State: TypeAlias = NDArray[np.int32]  # of a game
Stream: TypeAlias = NDArray[np.uint32]  # of random numbers, see uqbench_minatar.random
Obs: TypeAlias = NDArray[np.uint8]  # [C * 100]: channel, row, column
