"""The CUDA kernels compile to PTX, which needs NVVM but no GPU: ``tox -e ptx``.

The game is a parameter of the kernels, so that one of each serves all games.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from uqbench_minatar import cuda
from uqbench_minatar.config import GameConfig
from uqbench_minatar.lanes import MinAtarLanes

from uqbench.testing.ptx import ptx


@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (9, 0)], ids=["7.5", "8.0", "9.0"])
@pytest.mark.parametrize("kernel", [cuda._begin, cuda._step], ids=["begin", "step"])
def test_kernel_compiles_to_ptx(kernel: Any, capability: tuple[int, int]) -> None:
    env = MinAtarLanes(GameConfig(game="breakout"), [0, 1])
    text = ptx(kernel, env._parameters, env.arrays, capability)
    assert len(re.findall(r"\.visible \.entry", text)) == 1
    assert f".target sm_{capability[0]}{capability[1]}" in text
