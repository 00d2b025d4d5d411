"""Environments for lanes from one scalar source: a CPU loop, or one GPU thread per lane.

A plugin writes the step of one lane in plain Python, on rows of arrays whose leading dimension is
the lanes, decorates it with :data:`compiled` or :data:`inlined`, and passes a loop and a kernel
over all lanes to :class:`uqbench.kernels.cpu.CpuKernels` and
:class:`uqbench.kernels.cuda.CudaKernels`. The environment's tensors share those arrays. Examples:
``uqbench-minatar`` and ``uqbench-highway``. Read ``cpu`` first, then ``cuda`` and ``lanes``.

This package needs numba (and numba-cuda on a GPU), which uqbench does not install: a plugin that
imports it must require them.
"""

from numba import njit

compiled = njit(nogil=True, boundscheck=False, error_model="numpy")
"""For the functions that make up a step: compiled for the CPU, and again by any CUDA kernel that
calls them. With ``NUMBA_DISABLE_JIT=1`` they stay Python."""

inlined = njit(nogil=True, boundscheck=False, error_model="numpy", forceinline=True)
"""For functions that take all lanes: a call would count references to each of their arrays, which
takes as long as a small step."""

__all__ = ["compiled", "inlined"]
