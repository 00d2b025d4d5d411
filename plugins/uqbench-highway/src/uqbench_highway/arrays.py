"""The decorators of the functions that a lane's step is made of.

The functions are plain Python. ``compiled`` compiles them for the CPU, a CUDA kernel that calls
them compiles them again for the GPU, and with ``NUMBA_DISABLE_JIT=1`` they stay Python.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

Motion: TypeAlias = NDArray[np.float64]  # [N_FIELDS, V] of one environment, see simulation.cars
Marks: TypeAlias = NDArray[np.int32]  # [N_MARKS, V] of one environment, see simulation.cars
Stream: TypeAlias = NDArray[np.uint32]  # random numbers, see uqbench_highway.random
Obs: TypeAlias = NDArray[np.float32]  # an observation [observed * 5] of one environment

compiled = njit(nogil=True, boundscheck=False, error_model="numpy")

# For functions that take arrays and are called often: the call would count their references.
inlined = njit(nogil=True, boundscheck=False, error_model="numpy", forceinline=True)
