"""Types of the arrays of one lane."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Motion: TypeAlias = NDArray[np.float64]  # [N_FIELDS, V], see simulation.cars
Status: TypeAlias = NDArray[np.int32]  # [N_STATUS, V], see simulation.cars
Stream: TypeAlias = NDArray[np.uint32]  # of random numbers, see uqbench_highway.random
Obs: TypeAlias = NDArray[np.float32]  # [observed * 5]
