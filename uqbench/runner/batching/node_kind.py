"""What kind of machine this is: machines of one kind are equally fast."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

PROCESSOR = Path("/proc/cpuinfo")
GPUS = Path("/proc/driver/nvidia/gpus")


@cache
def node_kind() -> str:
    """Processor, cores and GPUs of this machine, in words; torch is not asked."""
    text = PROCESSOR.read_text(errors="replace") if PROCESSOR.exists() else ""
    processor = field(text, "model name") or platform.machine()
    informed = GPUS.glob("*/information")
    gpus = sorted(field(path.read_text(errors="replace"), "Model") for path in informed)
    return ", ".join([f"{os.cpu_count()} × {processor}", *gpus])


def field(text: str, name: str) -> str:
    """The first value of a field in a file of ``name : value`` lines; empty if there is none."""
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip()
    return ""
