"""The CUDA kernels compile to PTX on a machine without a GPU: ``tox -e ptx``.

What a GPU would be given can so be checked for its types, on any machine: NVVM needs no driver.

Where ``ptxas`` is on the path, which needs no GPU either, it compiles the kernels further, and the
registers and spills of each are printed.
"""

# numba.cuda has no types:
# mypy: disable-error-code="attr-defined, no-untyped-call, import-untyped"

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
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
from uqbench_minatar.config import GAMES, GameConfig
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


CAPABILITIES = pytest.mark.parametrize("capability", [(7, 5), (8, 0), (9, 0)], ids=str)
NAMES = ["begin", "step"]
KERNELS = pytest.mark.parametrize("name", NAMES)
ENVIRONMENTS = pytest.mark.parametrize("game", [*GAMES, "highway"])


def ptx_of(game: str, name: str, capability: tuple[int, int]) -> str:
    """The PTX of one of a game's kernels."""
    env: Any
    if game == "highway":
        env = HighwayLanes(HighwayConfig(), [0, 1])
        kernels = uqbench_highway.cuda._begin, uqbench_highway.cuda._step
    else:
        env = MinAtarLanes(GameConfig(game=game), [0, 1])
        kernels = uqbench_minatar.cuda.compiled(env._game)
    return ptx(kernels[NAMES.index(name)], env._parameters, env.arrays, capability)


@CAPABILITIES
@KERNELS
@ENVIRONMENTS
def test_kernel_compiles_to_ptx(game: str, name: str, capability: tuple[int, int]) -> None:
    text = ptx_of(game, name, capability)
    assert len(re.findall(r"\.visible \.entry", text)) == 1
    assert f".target sm_{capability[0]}{capability[1]}" in text


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas, of NVIDIA's CUDA toolkit")
@CAPABILITIES
@KERNELS
@ENVIRONMENTS
def test_ptx_compiles_to_machine_code_without_spills(
    game: str, name: str, capability: tuple[int, int], tmp_path: Path, capsys: Any
) -> None:
    source = tmp_path / "kernel.ptx"
    source.write_text(ptx_of(game, name, capability))
    target = f"--gpu-name=sm_{capability[0]}{capability[1]}"
    command = ["ptxas", "--verbose", target, "--output-file", str(tmp_path / "kernel"), str(source)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    registers = re.findall(r"Used (\d+) registers", said)
    spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", said)
    with capsys.disabled():
        at = ".".join(map(str, capability))
        print(f"\n{game} {name} {at}: {registers} registers, {spills} bytes of spills")
    assert (len(registers), {*spills}) == (1, {"0"})
