"""A worker keeps the memory of its steps, and gives it back when it is done with a group."""

import subprocess
import sys

import pytest

STEPS = """
import os, resource, torch
from uqbench.runner.executors.limits import memory
from uqbench.runner.executors.local import prepare_process, release_memory

def step():
    ones = [torch.ones(size * 250_000) for size in (10, 40, 100)]  # megabytes
    return sum(float(each.sum()) for each in ones)

prepare_process()
step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
kept = memory(os.getpid())
release_memory()
print((kept - memory(os.getpid())) // 1_000_000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_large_tensors_are_made_in_the_memory_of_the_step_before_until_the_group_is_done():
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True)
    faults, released = map(int, done.stdout.split())
    # the pages of a step are 37,000, of all 730,000; a kernel may reclaim some in between
    assert faults < 4 * 37_000
    assert released > 100
