"""The decorators of the functions that a lane's step is made of.

The functions are plain Python. ``compiled`` compiles them for the CPU, a CUDA kernel that calls
them compiles them again for the GPU, and with ``NUMBA_DISABLE_JIT=1`` they stay Python.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

State: TypeAlias = NDArray[np.int32]  # a game's, of one lane
Stream: TypeAlias = NDArray[np.uint32]  # random numbers, see uqbench_minatar.random
Obs: TypeAlias = NDArray[np.uint8]  # an observation [C * 100] of one lane: channel, row, column

compiled = njit(nogil=True, boundscheck=False, error_model="numpy")

# For functions that take all lanes: the call would count the references of every array of theirs,
# which takes as long as the step of a game.
inlined = njit(nogil=True, boundscheck=False, error_model="numpy", forceinline=True)
