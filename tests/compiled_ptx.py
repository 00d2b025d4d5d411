"""The CUDA kernels compile to PTX on a machine without a GPU: ``tox -e ptx``.

What a GPU would be given can so be checked for its types, on any machine: NVVM needs no driver. The
game is a parameter of MinAtar's kernels, so that one of each serves all games.
"""

# numba.cuda has no types:
# mypy: disable-error-code="attr-defined, no-untyped-call, import-untyped"

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import uqbench_highway.cuda
import uqbench_minatar.cuda
from numba import cuda, typeof
from torch import Tensor
from uqbench_highway.config import HighwayConfig
from uqbench_highway.lanes import HighwayLanes
from uqbench_minatar.config import GameConfig
from uqbench_minatar.lanes import MinAtarLanes


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


@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (9, 0)], ids=["7.5", "8.0", "9.0"])
@pytest.mark.parametrize("name", ["_begin", "_step"])
@pytest.mark.parametrize("game", ["minatar", "highway"])
def test_kernel_compiles_to_ptx(game: str, name: str, capability: tuple[int, int]) -> None:
    env: Any
    if game == "minatar":
        kernel = getattr(uqbench_minatar.cuda, name)
        env = MinAtarLanes(GameConfig(game="breakout"), [0, 1])
    else:
        kernel, env = getattr(uqbench_highway.cuda, name), HighwayLanes(HighwayConfig(), [0, 1])
    text = ptx(kernel, env._parameters, env.arrays, capability)
    assert len(re.findall(r"\.visible \.entry", text)) == 1
    assert f".target sm_{capability[0]}{capability[1]}" in text
