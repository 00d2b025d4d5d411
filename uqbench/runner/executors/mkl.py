"""Which of its code branches MKL is told to take, so that a lane's bits do not depend on others.

Without ``MKL_CBWR`` MKL chooses kernels by where in memory the numbers lie, and last bits differ.
Pinned, each branch gives a lane the same bits, and different branches give different ones: which it
was is provenance. On Intel's processors the branch is the widest that there is; on others MKL
ignores the names of Intel's branches, and ``AUTO`` is what it does (``MKL_VERBOSE=1`` tells).

No torch here: a worker asks before it loads it.
"""

from __future__ import annotations

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
"""Branches, the widest first, and the processor's flags that they need."""


def branches(facts: str) -> list[str]:
    """The branches that a processor has, the best first.

    Args:
        facts: what Linux tells of it, as in ``/proc/cpuinfo``; empty where nothing does.
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
    """The branches that this machine's processor has, the best first."""
    return branches(FACTS.read_text() if FACTS.exists() else "")


def in_words() -> str:
    """What this process told MKL, for a description of its device."""
    return f"MKL {os.environ.get(VARIABLE, 'not pinned')}"
