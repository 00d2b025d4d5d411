"""Files that the user names: read as regular files, and replaced whole."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from uqbench.contract.config import explain
from uqbench.contract.errors import UqbenchError
from uqbench.results.folders import Folder

MOST_UNPACKED = 256 << 20
"""Bytes of scores that are unpacked: some million runs."""


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The contents of a file; see :meth:`Folder.read`."""
    return Folder(path.parent).read(path.name, most)


def write_data(path: Path, data: bytes) -> None:
    """Replace a file; see :meth:`Folder.write`."""
    Folder(path.parent).write(path.name, data)


@contextmanager
def reading(where: object, *errors: type[Exception]) -> Iterator[None]:
    """Say that a file is damaged where one of these errors is raised in reading it.

    Raises:
        UqbenchError: it is; ``where`` is what it calls the file.
    """
    try:
        yield
    except UqbenchError:
        raise
    except errors as error:
        why = explain(error) if isinstance(error, ValidationError) else str(error)
        raise UqbenchError(f"{where} is damaged, because {why:.300}") from error


def stored_text(data: bytes, path: Path) -> str:
    """The text of a file that is part of a stored board.

    Raises:
        UqbenchError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UqbenchError(f"{path} is damaged, because it is not UTF-8: {error}") from error


def unpacked(data: bytes) -> bytes:
    """The contents of a file that was compressed by gzip.

    Raises:
        ValueError: they are damaged, or more than :data:`MOST_UNPACKED`; what is beyond is not
            unpacked.
    """
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    with suppress(zlib.error):
        text = unpacking.decompress(data, MOST_UNPACKED)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError(f"it is cut, altered, longer, or unpacks to over {MOST_UNPACKED:,} bytes")
    return text
