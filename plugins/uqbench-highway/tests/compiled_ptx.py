"""The CUDA kernels compile to PTX, which needs NVVM but no GPU: ``tox -e ptx``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from uqbench_highway import cuda
from uqbench_highway.config import HighwayConfig
from uqbench_highway.lanes import HighwayLanes

from uqbench.testing.ptx import ptx


@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (9, 0)], ids=["7.5", "8.0", "9.0"])
@pytest.mark.parametrize("kernel", [cuda._begin, cuda._step], ids=["begin", "step"])
def test_kernel_compiles_to_ptx(kernel: Any, capability: tuple[int, int]) -> None:
    env = HighwayLanes(HighwayConfig(), [0, 1])
    text = ptx(kernel, env._parameters, env.arrays, capability)
    assert len(re.findall(r"\.visible \.entry", text)) == 1
    assert f".target sm_{capability[0]}{capability[1]}" in text
