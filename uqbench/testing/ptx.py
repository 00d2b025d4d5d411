"""Compile CUDA kernels to PTX on a machine without a GPU.

What a GPU would be given can so be checked for its types, on any machine: NVVM needs no driver. It
comes with ``pip install "numba-cuda[cu12]"``; ``tox -e ptx`` installs it.
"""

# numba.cuda has no types:
# mypy: disable-error-code="attr-defined, no-untyped-call, import-untyped"

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from numba import cuda, typeof
from torch import Tensor


def ptx(kernel: Any, parameters: Any, lanes: Any, capability: tuple[int, int] = (9, 0)) -> str:
    """The PTX of a kernel of (parameters, arrays), for a GPU of that compute capability.

    Args:
        kernel: function decorated with ``cuda.jit``.
        parameters: a named tuple of numbers.
        lanes: a named tuple of tensors, or of arrays, ``[L, …]`` each.
        capability: of the GPU, major and minor.

    Raises:
        numba.core.errors.TypingError: the kernel cannot be compiled for these types.
    """
    arrays = type(lanes)(*(x.numpy() if isinstance(x, Tensor) else x for x in lanes))
    signature = typeof(parameters), typeof(arrays)
    device = SimpleNamespace(compute_capability=capability)
    # functions that a kernel calls are compiled for the current device, whatever cc says
    with patch("numba.cuda.dispatcher.get_current_device", lambda: device):
        text, _ = cuda.compile_ptx(kernel.py_func, signature, cc=capability)
    return str(text)
