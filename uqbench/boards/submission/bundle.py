"""The file of a submission: a zip archive of a few files with fixed names, none of them code.

Whoever reads one has it from somebody else. No name in it is used as a path, nothing in it is
unpickled or executed, and every size is limited before anything is read.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from uqbench.boards.manifest import Digest
from uqbench.contract.config import explain
from uqbench.contract.errors import UqbenchError, see
from uqbench.results.files import read_bytes, write_data

INDEX = "submission.json"
TABLES = (
    "claims.csv", "leaderboard.csv", "manifest.json", "pairs.csv", "ranks.csv", "scores.csv",
    "tasks.csv",
)  # fmt: skip
"""What follows from ``scores.csv``."""
LOCK = "lock.txt"
CHECK = "check.json"
REQUIRED = (*TABLES, "made_with.json", "cost.csv", LOCK, CHECK)
UNREAD = ("curves.parquet", "uncertainty.parquet")
"""Which submissions of earlier versions have too: rows from elsewhere bring no curves."""

MOST_BYTES = 64 << 20
"""Of the archive, and of all that is in it."""
_DAMAGE = (
    ValueError, RecursionError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError,
    RuntimeError, struct.error, OverflowError,
)  # fmt: skip
"""What reading a damaged archive may raise."""
_END = 22
"""Bytes of the record that ends an archive without a comment."""
_MOST_DIRECTORY = 4096
"""Bytes of the archive's list of its files."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class Index(BaseModel):
    """``submission.json``.

    Attributes:
        suite, budget: that were run.
        methods: that are submitted.
        uqbench: version that made the file.
        sha256: of each other file.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_version: Literal[1] = 1
    suite: Name
    budget: Name
    methods: list[Name]
    uqbench: str
    sha256: dict[str, Digest]


@dataclass(frozen=True)
class Bundle:
    """A submission.

    Attributes:
        files: contents by name, without the index.
        digest: sha256 of the archive.
    """

    index: Index
    files: Mapping[str, bytes]
    digest: str


def write_bundle(
    path: Path, suite: str, budget: str, methods: list[str], files: Mapping[str, bytes]
) -> str:
    """Write a submission; the same contents give the same bytes. Return its sha256.

    Raises:
        UqbenchError: it is too large.
        StorageError: it cannot be written.
    """
    from uqbench.contract.version import __version__

    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    index = Index(suite=suite, budget=budget, methods=methods, uqbench=__version__, sha256=digests)
    text = json.dumps(index.model_dump(), indent=1).encode()
    if sum(map(len, (text, *files.values()))) > MOST_BYTES:
        raise UqbenchError(
            f"{path} would hold more than {MOST_BYTES >> 20} MiB; submit fewer methods at once."
        )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in ((INDEX, text), *sorted(files.items())):
            entry = zipfile.ZipInfo(name)  # of 1980: no time of making is in it
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    write_data(path, made.getvalue())
    return hashlib.sha256(made.getvalue()).hexdigest()


def read_bundle(path: Path) -> Bundle:
    """Read a submission from anywhere.

    Raises:
        UqbenchError: it is none, too large, damaged, or has other files than a submission has.
    """
    try:
        data = read_bytes(path, MOST_BYTES)
        contents = _contents(data)
        index = Index.model_validate_json(contents.pop(INDEX))
    except OSError as error:
        raise UqbenchError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise UqbenchError(f"{path}: {INDEX}: {explain(error)}") from error
    except _DAMAGE as error:
        raise UqbenchError(
            f"{path} is no submission of uqbench submit, or damaged: {error!s:.300}"
            f"{see('refused-submission')}"
        ) from error
    if index.sha256.keys() != contents.keys():
        raise UqbenchError(f"{path}: {INDEX} lists other files than there are.")
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != index.sha256[name]:
            raise UqbenchError(f"{path}: {name} does not match its digest in {INDEX}.")
    return Bundle(index, contents, hashlib.sha256(data).hexdigest())


def _contents(data: bytes) -> dict[str, bytes]:
    """The files of an archive, none of it read before its size is known.

    Raises:
        ValueError: it is none, or has other files than a submission.
        BadZipFile: it is damaged.
    """
    _check_directory(data)
    contents: dict[str, bytes] = {}
    left = MOST_BYTES
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            name = entry.filename
            if name not in (INDEX, *REQUIRED, *UNREAD) or name in contents:
                raise ValueError(f"it has a file {name[:100]!r}, or has it twice")
            if entry.flag_bits & 1 or entry.compress_type not in (
                zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED,
            ):  # fmt: skip
                raise ValueError(f"{name} is encrypted, or compressed in an unusual way")
            with archive.open(entry) as file:
                contents[name] = file.read(left + 1)  # whatever size the entry claims
            left -= len(contents[name])
            if left < 0:
                raise ValueError(f"it holds more than {MOST_BYTES >> 20} MiB")
    missing = {INDEX, *REQUIRED} - contents.keys()
    if missing:
        raise ValueError(f"it has no {', '.join(sorted(missing))}")
    return contents


def _check_directory(data: bytes) -> None:
    """See that the list of files is short before ``zipfile`` reads all of it into objects."""
    end = data[-_END:]
    if len(end) < _END or end[:4] != b"PK\x05\x06" or end[20:] != b"\0\0":
        raise ValueError("it is no zip archive, or one with a comment")
    if data[-_END - 20 : -_END - 16] == b"PK\x06\x07":
        raise ValueError("it is an archive in the form for huge ones")
    if int.from_bytes(end[12:16], "little") > _MOST_DIRECTORY:
        raise ValueError("it has too many files")
