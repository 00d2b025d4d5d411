"""Files that a command writes where the user says: new ones, or regular ones of their own."""

import os
import stat
from pathlib import Path

from uqbench.contract.errors import UqbenchError
from uqbench.results.files import write_data


def check_output(path: Path) -> None:
    """See that a file that the user names is a new one, or a regular one of their own.

    Raises:
        UqbenchError: it is a link, a folder, a pipe, a device, or somebody else's.
    """
    try:
        there = path.lstat()
    except OSError:
        return  # there is none, or writing says why it cannot be
    if not stat.S_ISREG(there.st_mode) or there.st_uid != os.geteuid():
        what = "is somebody else's" if stat.S_ISREG(there.st_mode) else "is no regular file"
        raise UqbenchError(
            f"{path} {what}, and would be replaced: name a new file, or a regular one of your own."
        )


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user names.

    Raises:
        UqbenchError: see :func:`check_output`.
        StorageError: it cannot be written.
    """
    check_output(path)
    write_data(path, data)
