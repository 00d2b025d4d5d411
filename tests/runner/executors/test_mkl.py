"""Each branch of MKL that workers may take gives a lane the same bits whatever the others are."""

import os
import subprocess
import sys

import pytest
import torch

from uqbench.runner.device import MKL, mkl_branches
from uqbench.runner.executors.local import ENVIRONMENT
from uqbench.runner.resume import device_name

INTEL = "vendor_id\t: GenuineIntel\nmodel name\t: Xeon\nflags\t\t: fpu avx2 fma{}\n"
AVX512 = " avx512f avx512dq avx512bw avx512vl"
AMD = "vendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2 fma avx512f avx512dq avx512bw avx512vl\n"

PRODUCTS = """
import hashlib, torch
torch.set_num_threads(1)
sizes = [(32, 128, 300), (1, 6, 128), (33, 127, 51), (512, 16, 36), (32, 10, 7), (5, 3, 1)]
for rows, outputs, inputs in sizes:
    random = torch.Generator().manual_seed(rows)
    x, w = (torch.randn(9, *s, generator=random) for s in ((rows, inputs), (inputs, outputs)))
    b, g = (torch.randn(9, *s, generator=random) for s in ((1, outputs), (rows, outputs)))
    def bits(lanes, offset):
        parts = []
        for values in (x, w, b, g):
            room = torch.empty(offset + values[lanes].numel())
            parts.append(room[offset:].view_as(values[lanes]).copy_(values[lanes]))
        x_, w_, b_, g_ = parts
        x_.requires_grad_(), w_.requires_grad_()
        y = torch.baddbmm(b_, x_, w_)
        return [y.detach(), *torch.autograd.grad(y, (x_, w_), g_)]
    alone = [bits(slice(lane, lane + 1), 0) for lane in range(9)]
    for first, last, offset in ((0, 2, 0), (1, 6, 1), (4, 9, 3), (0, 9, 5)):
        together = bits(slice(first, last), offset)
        for lane in range(first, last):
            for one, all_ in zip(alone[lane], together):
                if not torch.equal(one[0], all_[lane - first]):
                    print("differs:", (rows, outputs, inputs), "of", last - first, "lanes")
print("done")
"""


def products(branch: str | None) -> list[str]:
    """What differs between lanes alone and together, in a process of its own, and "done"."""
    environment = {k: v for k, v in {**os.environ, **ENVIRONMENT}.items() if k != MKL}
    if branch is not None:
        environment[MKL] = branch
    done = subprocess.run(
        [sys.executable, "-c", PRODUCTS], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("branch", mkl_branches())
def test_a_lanes_products_are_the_same_alone_and_among_others_in_each_branch(branch):
    assert products(branch) == ["done"]


PROCESSORS = [
    (INTEL.format(AVX512 + " avx512_vnni"), ["AVX512_E1", "AVX512", "AVX2"]),
    (INTEL.format(AVX512), ["AVX512", "AVX2"]),
    (INTEL.format(""), ["AVX2"]),
    (AMD, ["AUTO"]),
    ("", ["AVX2"]),
]


@pytest.mark.parametrize(("facts", "expected"), PROCESSORS)
def test_the_widest_branch_comes_first_and_other_makers_processors_have_no_choice(facts, expected):
    assert mkl_branches(facts) == expected


def test_the_branch_is_told_with_the_device(monkeypatch):
    monkeypatch.setenv(MKL, "AVX512_E1")
    assert device_name(torch.device("cpu")).endswith(", MKL AVX512_E1")
    monkeypatch.delenv(MKL)
    assert device_name(torch.device("cpu")).endswith(", MKL not pinned")
