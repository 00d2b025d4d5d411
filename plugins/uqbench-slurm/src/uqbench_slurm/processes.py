"""Processes of submitit's executor for one machine, also those that an earlier command started."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

END_SECONDS = 30.0
"""For a job that was interrupted to end."""


def is_alive(pid: int) -> bool:
    """Whether a process lives and is one of submitit's."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return b"submitit.local._local" in words and state != "Z"


def interrupt(pid: int) -> None:
    """End a job's processes, as submitit does, and wait for that."""
    if is_alive(pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
    deadline = time.monotonic() + END_SECONDS
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
