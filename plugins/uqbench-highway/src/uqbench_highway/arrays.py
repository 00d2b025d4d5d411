"""The arrays of one lane, as the functions that step it take them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Motion: TypeAlias = NDArray[np.float64]  # [N_FIELDS, V] of one lane, see simulation.cars
Marks: TypeAlias = NDArray[np.int32]  # [N_MARKS, V] of one lane, see simulation.cars
Stream: TypeAlias = NDArray[np.uint32]  # random numbers, see uqbench_highway.random
Obs: TypeAlias = NDArray[np.float32]  # an observation [observed * 5] of one lane
