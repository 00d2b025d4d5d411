"""The device that computes, found without torch where there can be none but the CPU."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    from uqbench.identity import DeviceKind

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
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _has_driver() -> bool:
    """Whether a GPU's driver is installed; importing torch to ask takes two seconds."""
    if Path("/dev/kfd").exists():  # AMD's
        return True
    with suppress(OSError):
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        return True
    return False
