"""The device that computes, found without torch where there can be none but the CPU.

Which code branch MKL uses is pinned, so that a lane's bits do not depend on other lanes. Without
``MKL_CBWR`` MKL chooses kernels by memory alignment, and last bits differ. With a pinned branch a
lane always has the same bits; different branches have different bits, so the branch is part of
provenance. On Intel processors it is the widest available; on others MKL ignores the names of
Intel's branches and behaves as with ``AUTO`` (see ``MKL_VERBOSE=1``).

This module does not import torch: a worker calls it first.
"""

import ctypes
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from uqbench.contract.errors import UqbenchError
from uqbench.contract.identity import DeviceKind

MKL = "MKL_CBWR"
FACTS = Path("/proc/cpuinfo")
NEEDED: Mapping[str, frozenset[str]] = {
    "AVX512_E1": frozenset({"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_vnni"}),
    "AVX512": frozenset({"avx512f", "avx512dq", "avx512bw", "avx512vl"}),
    "AVX2": frozenset({"avx2", "fma"}),
}
"""Branches, the widest first, and the processor flags that each needs."""


def mkl_branches(facts: str | None = None) -> list[str]:
    """The branches of MKL that a processor has, the best first.

    Args:
        facts: the contents of ``/proc/cpuinfo``; None for those of this machine.
    """
    facts = (FACTS.read_text() if FACTS.exists() else "") if facts is None else facts
    said = dict.fromkeys(("vendor_id", "flags"), "")
    for line in facts.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in said:
            said[key.strip()] = value.strip()
    if facts and said["vendor_id"] != "GenuineIntel":
        return ["AUTO"]
    flags = set(said["flags"].split())
    return [name for name, needed in NEEDED.items() if needed <= flags] or ["AVX2"]


CHOICES = ("auto", "cpu", "cuda")


def find_device(choice: str, gpus_elsewhere: float | None = None) -> DeviceKind:
    """The kind of device that ``auto``, ``cpu`` or ``cuda`` means.

    Args:
        choice: one of them.
        gpus_elsewhere: that a batch asks for on other machines, where ``auto`` is ``cuda`` if any;
            None for this machine.

    Raises:
        UqbenchError: there is no such choice, or no CUDA device here.
    """
    if choice not in CHOICES:
        raise UqbenchError(f"device={choice!r}: expected one of {', '.join(CHOICES)}.")
    if gpus_elsewhere is not None:
        return "cuda" if choice == "cuda" or (choice == "auto" and gpus_elsewhere > 0) else "cpu"
    if choice == "cpu" or (choice == "auto" and not _has_driver()):
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if choice == "cuda":
        raise UqbenchError("--device cuda: torch finds no CUDA device here; use --device cpu.")
    return "cpu"


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _has_driver() -> bool:
    """Whether a GPU's driver is installed; importing torch to ask takes two seconds."""
    if Path("/dev/kfd").exists():  # AMD's
        return True
    with suppress(OSError):
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        return True
    return False


GPU = "CUDA_VISIBLE_DEVICES"
"""Says which GPUs a process may use."""


def visible() -> list[str]:
    """The GPUs that this process may use, as ``CUDA_VISIBLE_DEVICES`` names them."""
    named = os.environ.get(GPU)
    if named is not None:
        return [name.strip() for name in named.split(",") if name.strip()]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


def share_out(gpus: list[str], each: float, workers: int | None) -> list[str]:
    """The GPU of each process, so that the first processes have different ones.

    Args:
        gpus: that there are.
        each: GPUs that a process takes; 0 for one.
        workers: processes; None for as many as the GPUs have room for.

    Raises:
        UqbenchError: a process takes more than one.
    """
    if each > 1:
        raise UqbenchError(f"gpus={each:g}: a batch computes on one GPU; expected at most 1.")
    room = len(gpus) * int(1 / each + 1e-9) if each else len(gpus)
    return [gpus[worker % len(gpus)] for worker in range(workers or max(1, room))] if gpus else []
