"""The file of the index: what is in it, and reading it, whatever it holds."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from uqbench.results.files import read_bytes
from uqbench.results.records import Count, Process, Provenance, Resumed

INDEX = ".index"
MOST_BYTES = 4 << 30

Signature = tuple[int, int, int, int]
"""Size, times of modification and change in ns, inode: another after every change of a file."""


def signature(path: str) -> Signature | None:
    """That of a regular file; None where there is none of that name."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


class Shared(BaseModel):
    """What the records of a cell have in common."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1, 2]
    identity: dict[str, Any]
    provenance: Provenance
    metrics: dict[str, dict[str, Any]]
    scalars: tuple[str, ...]


class Session(BaseModel):
    """What the records of a process have in common."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    process: Process
    resumed: tuple[Resumed, ...]


class Row(NamedTuple):
    """A finished run.

    Attributes:
        record: signature of its ``run.json``.
        files: signatures of the data files when their digests were verified; empty before.
        shared, session: where in the index's lists the rest of the record is.
    """

    record: Signature
    files: dict[str, Signature]
    shared: int
    session: int
    seed: int
    step: int
    began: str
    updated: str
    timing: tuple[float, int, float] | None
    scalars: list[float | None]
    digests: dict[str, str]
    digest: str


RowTuple = tuple[
    Signature, dict[str, Signature], Count, Count, Count, Count, str, str,
    tuple[float, Annotated[int, Field(ge=1)], float] | None, list[float | None], dict[str, str],
    str,
]  # fmt: skip
"""A row in JSON; plain tuples are validated ten times as fast as named ones."""


class Body(BaseModel):
    """The index without its header; rows are by folder, grouped by the folder above."""

    model_config = ConfigDict(extra="forbid", strict=True)

    shared: list[Shared]
    sessions: list[Session]
    rows: dict[str, dict[str, RowTuple]]


def read_index(path: Path) -> Body:
    """The index; an empty one where it is damaged, or other code's."""
    empty = Body(shared=[], sessions=[], rows={})
    try:
        first, _, data = read_bytes(path, MOST_BYTES).partition(b"\n")
        header = json.loads(first)
        whole = header["code"] == code() and header["sha256"] == hashlib.sha256(data).hexdigest()
        return _BODY.validate_json(data) if whole else empty
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return empty


_BODY = TypeAdapter(Body)


@cache
def code() -> str:
    """The sha256 of the code that reads records: another may find another record valid."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
