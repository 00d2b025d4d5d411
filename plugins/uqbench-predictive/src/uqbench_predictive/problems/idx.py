"""Reading the files of image data sets: IDX, plain or gzipped, in folders or zip archives.

Errors name the file, what was expected and what to do.
"""

from __future__ import annotations

import gzip
import zipfile
from dataclasses import dataclass
from hashlib import md5, sha256
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.errors import MissingDataError

DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
"""By the third byte of an IDX file."""


class DataError(ValueError):
    """A file of a data set is missing, or not the expected one."""


class MissingError(DataError, MissingDataError):
    """It is missing."""


@dataclass(frozen=True)
class File:
    """A published file.

    Attributes:
        path: relative to the folder that the user names.
        md5: its published checksum; empty where only the content is known.
        where: where it is published.
        sha256: of what a gzipped file holds. Archives compress the same content anew, which changes
            the file's own checksum.
    """

    path: str
    md5: str
    where: str
    sha256: str = ""


def content(folder: Path, file: File) -> bytes:
    """The bytes of a file, its checksum or that of its content verified.

    Raises:
        DataError: it is missing, or is not the expected one.
    """
    path = folder / file.path
    if not path.is_file():
        raise MissingError(f"there is no {path}; put the file published at {file.where} there")
    read = path.read_bytes()
    digest = md5(read, usedforsecurity=False).hexdigest()
    if digest == file.md5:
        return read
    if not file.sha256:
        raise DataError(
            f"{path} has the MD5 {digest}, expected {file.md5}; download it again from {file.where}"
        )
    found = sha256(decompressed(read, str(path))).hexdigest()
    if found != file.sha256:
        raise DataError(
            f"the content of {path} has the SHA-256 {found}, expected {file.sha256}; download it "
            f"again from {file.where}"
        )
    return read


def decompressed(read: bytes, name: str) -> bytes:
    """The content of a gzipped file, or the bytes themselves.

    Raises:
        DataError: the file is damaged.
    """
    if read[:2] != b"\x1f\x8b":
        return read
    try:
        return gzip.decompress(read)
    except (OSError, EOFError) as error:
        raise DataError(f"{name} cannot be decompressed: {error}; download it again") from None


def parse_idx(read: bytes, name: str, shape: tuple[int | None, ...]) -> NDArray[np.generic]:
    """The array of an IDX file, gzipped or not.

    Args:
        read: its bytes.
        name: of the file, for error messages.
        shape: expected; None where any length will do.

    Raises:
        DataError: it is not an IDX file, or has another shape.
    """
    read = decompressed(read, name)
    if len(read) < 4 or read[:2] != b"\0\0" or read[2] not in DTYPES:
        raise DataError(
            f"{name} is not an IDX file: it begins with {read[:4].hex(' ') or 'nothing'}"
        )
    dimensions = read[3]
    header = 4 + 4 * dimensions
    found = tuple(int(n) for n in np.frombuffer(read[4:header], ">u4"))
    if len(found) != len(shape) or any(
        e not in (None, f) for e, f in zip(shape, found, strict=True)
    ):
        wanted = " × ".join("any" if n is None else str(n) for n in shape)
        actual = " × ".join(map(str, found))
        raise DataError(f"{name} holds an array of {actual}, expected {wanted}")
    dtype = np.dtype(DTYPES[read[2]])
    if len(read) - header != dtype.itemsize * int(np.prod(found)):
        raise DataError(
            f"{name} has {len(read) - header} bytes of data, its header says "
            f"{dtype.itemsize * int(np.prod(found))}; download it again"
        )
    array: NDArray[np.generic] = np.frombuffer(read[header:], dtype).reshape(found)
    return array.astype(dtype.newbyteorder("="))


def member(archive: bytes, name: str, inside: str) -> bytes:
    """A file in a zip archive.

    Raises:
        DataError: it is not a zip archive, or does not contain the file.
    """
    try:
        with zipfile.ZipFile(BytesIO(archive)) as opened:
            return opened.read(inside)
    except zipfile.BadZipFile:
        raise DataError(f"{name} is not a zip archive; download it again") from None
    except KeyError:
        raise DataError(f"{name} does not contain {inside}") from None
