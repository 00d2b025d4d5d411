"""Writing files whole: whoever reads sees the old file or the new one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from uqbench.errors import UqbenchError


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file, flush it to disk, and give it its name.

    Raises:
        UqbenchError: it cannot be written, as on a full disk; the old file, if any, is untouched.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")  # its own for every process
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UqbenchError(
            f"{path} cannot be written: {error.strerror or error}. Finished runs are kept; mend "
            f"it and run again."
        ) from error
