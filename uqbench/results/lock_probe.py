"""A test of ``flock`` in a folder: two processes try to lock the same file."""

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_CODE = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit(0)
sys.exit(3)
"""


def why_flock_fails(folder: Path) -> str:
    """Why ``flock`` cannot be relied on in a folder; empty if two processes exclude each other.

    Both are on this machine: whether a lock holds between machines is not found out.

    Raises:
        OSError: no file can be written there.
    """
    with tempfile.NamedTemporaryFile(prefix=".lock.", suffix=".tmp", dir=folder) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return f"flock is not there ({os.strerror(error.errno or 0)})"
        command = [sys.executable, "-I", "-S", "-c", _CODE, file.name]
        code = subprocess.run(command, check=False, capture_output=True).returncode
    if code == 3:
        return "flock does nothing: two processes got the same lock"
    return "" if code == 0 else f"flock fails in a second process (exit code {code})"
