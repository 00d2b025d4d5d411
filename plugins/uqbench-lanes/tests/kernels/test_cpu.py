"""Kernels of the CPU are compiled once, however many processes start together."""

import json
import os
import subprocess
import sys
from pathlib import Path

MODULE = """
import json
import sys
from typing import NamedTuple

import torch
from uqbench.lanes.kernels import cpu

class Arrays(NamedTuple):
    action: object

@cpu.compiled_once("counting")
def _begin(parameters, lanes):
    lanes[0][:] = parameters[0]

@cpu.compiled_once("counting")
def _step(parameters, lanes):
    for lane in range(len(lanes[0])):
        lanes[0][lane] += parameters[0]
    return -1

if __name__ == "__main__":
    from counting import _begin, _step
    lanes = Arrays(torch.zeros(3, dtype=torch.int64))
    kernels = cpu.CpuKernels(_begin, _step, (2,), lanes, 9)
    kernels.begin()
    kernels.step()
    assert lanes.action.tolist() == [4, 4, 4]
    print(json.dumps([sum(f.stats.cache_misses.values()) for f in (_begin, _step)]))
"""


def test_of_processes_that_start_together_one_compiles_each_kernel(tmp_path: Path) -> None:
    package = tmp_path / "counting"
    package.mkdir()
    (package / "__init__.py").write_text(MODULE)
    (package / "__main__.py").write_text(MODULE)
    variables = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "c")}
    own = {"env": variables, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([sys.executable, "-m", "counting"], **own) for _ in range(3)]
    misses = [json.loads(process.communicate()[0]) for process in started]
    assert [sum(of_function) for of_function in zip(*misses, strict=True)] == [1, 1]
