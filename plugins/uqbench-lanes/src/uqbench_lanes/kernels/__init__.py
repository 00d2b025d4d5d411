"""Environments for lanes from one scalar source: a CPU loop, or one GPU thread per lane.

A plugin writes the step of one lane in plain Python, on rows of arrays whose leading dimension is
the lanes, decorates it with :func:`compiled` or :func:`inlined`, and passes a loop and a kernel
over all lanes to :class:`uqbench_lanes.kernels.cpu.CpuKernels` and
:class:`uqbench_lanes.kernels.cuda.CudaKernels`. The environment's tensors share those arrays.
Examples: ``uqbench-minatar`` and ``uqbench-highway``. Read ``cpu`` first, then ``cuda`` and
    ``lanes``.

This package needs numba (and numba-cuda on a GPU), which uqbench does not install: a plugin that
imports it must require them.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, *, allocates: bool = False, **options: Any) -> Function:
    """Compile a function of a step for the CPU; CUDA kernels compile it again.

    With ``NUMBA_DISABLE_JIT=1`` they stay Python. Where nothing is allocated, references to
    arrays need not be counted (``_nrt``), which takes as long as a small step.
    """
    options |= {"nogil": True, "boundscheck": False, "error_model": "numpy", "_nrt": allocates}
    return cast(Function, njit(**options)(function))


def inlined(function: Function) -> Function:
    """Make a function part of its callers: one that takes all lanes, or is a line.

    A function by itself is compiled again for each constant that it is called with.
    """
    return compiled(function, inline="always")
