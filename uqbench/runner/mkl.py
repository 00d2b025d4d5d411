"""Which code branch MKL uses, pinned so that a lane's bits do not depend on other lanes.

Without ``MKL_CBWR`` MKL chooses kernels by memory alignment, and last bits differ. With a pinned
branch a lane always has the same bits; different branches have different bits, so the branch is
part of provenance. On Intel processors it is the widest available; on others MKL ignores the names
of Intel's branches and behaves as with ``AUTO`` (see ``MKL_VERBOSE=1``).

This module does not import torch: a worker calls it first.
"""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

VARIABLE = "MKL_CBWR"
FACTS = Path("/proc/cpuinfo")
NEEDED: Mapping[str, frozenset[str]] = {
    "AVX512_E1": frozenset({"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_vnni"}),
    "AVX512": frozenset({"avx512f", "avx512dq", "avx512bw", "avx512vl"}),
    "AVX2": frozenset({"avx2", "fma"}),
}
"""Branches, the widest first, and the processor flags that each needs."""


def branches(facts: str) -> list[str]:
    """The branches that a processor has, the best first.

    Args:
        facts: the contents of ``/proc/cpuinfo``; empty if there is none.
    """
    said = dict.fromkeys(("vendor_id", "flags"), "")
    for line in facts.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in said:
            said[key.strip()] = value.strip()
    if facts and said["vendor_id"] != "GenuineIntel":
        return ["AUTO"]
    flags = set(said["flags"].split())
    return [name for name, needed in NEEDED.items() if needed <= flags] or ["AVX2"]


@cache
def own_branches() -> list[str]:
    """The branches of this machine's processor, the best first."""
    return branches(FACTS.read_text() if FACTS.exists() else "")


def in_words() -> str:
    """MKL's branch in this process, for a description of its device."""
    return f"MKL {os.environ.get(VARIABLE, 'not pinned')}"
