"""``<root>/.index``: the records of finished runs, so that no later command reads them again.

A cache of the files, and never a second truth. What it says of a run counts only while
``run.json`` has the size, times of modification and change, and inode as when it was read, and
while the sha256 of what is said is the digest that ``run.json`` itself states: a row that somebody
else wrote is not believed. A program can set the time of modification, and a copy keeps it; the
time of change it cannot set. A file that changed less than a minute before it was read is not
remembered: a second change might fall into the same tick of the file system's clock.

Only finished runs without a checkpoint are remembered, which no longer change. Rows that are
damaged are ignored, and a file that was written by other code than this is written anew.

The file is text, a line a run, and no database: results come from anywhere, on any file system. It
is read and replaced as every other file here, without a lock, and no journal beside it is
replayed. A line has what is the run's own, in canonical JSON; what the runs of a cell share is a
line above them, with a tab wherever something of a run's own belongs. Put together, they are what
the digest of the record is of.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from uqbench.errors import StorageError
from uqbench.identity import canonical
from uqbench.results.files import read_bytes, write_data
from uqbench.results.record_files import RECORD
from uqbench.results.records import Count, Finite, Moment, Process, Resumed, RunRecord, Timing

FILE = ".index"
MOST_BYTES = 2 << 30
LEAST_AGE_NS = 60_000_000_000
FEWEST = 100
"""New runs that are worth writing the file anew for, plus a hundredth of those in it."""
_HEAD = 300
"""Bytes of ``run.json`` that hold its digest: its keys are sorted."""
_HOLE = "\t"
"""In a record in place of what is the run's own: JSON has no tab but as an escape."""
_OWN = ("began", "digests", "process", "resumed", "step", "timing", "updated")
"""Fields that are the run's own, beside the seed and the values of the scalars."""

Signature = tuple[int, int, int, int]
"""Size, times of modification and change in ns, inode: another after every change of a file."""
_LINE = TypeAdapter(
    tuple[
        Signature, dict[str, Signature], Moment, dict[str, str], Count, Process,
        tuple[Resumed, ...], list[Finite | None], Count, Timing | None, Moment,
    ]
)  # fmt: skip


class _Row(NamedTuple):
    """A run's record, signature of its file, and those of its data files once verified."""

    record: RunRecord
    signature: Signature
    files: dict[str, Signature]


class RunCache:
    """What is remembered of the finished runs below a root.

    Args:
        root: of the store.
    """

    def __init__(self, root: Path) -> None:
        self._root, self._base = root, f"{root}{os.sep}"
        self._lines: dict[str, tuple[bytes, bytes]] = {}
        self._first: dict[bytes, RunRecord] = {}
        self._last: tuple[str, _Row | None] = "", None
        self._new = 0
        self._template = code = template = b""
        with suppress(OSError, ValueError):
            code, *lines = read_bytes(root / FILE, MOST_BYTES).split(b"\n")
        for line in lines if code == _code() else ():
            folder, _, own = line.partition(b"\t")
            if line.startswith(b"{"):
                template = line
            else:
                self._lines[folder.decode("utf-8", "replace")] = template, own

    def read(self, folder: str) -> RunRecord | None:
        """The record of a finished run whose ``run.json`` is as it was when it was read."""
        row, path = self._row(folder), self._base + folder
        if row is None:
            return None
        if signature(f"{path}/{RECORD}") == row.signature and _states(path, row.record.digest):
            return row.record
        self._put(folder, None)
        return None

    def is_verified(self, folder: str, name: str) -> bool:
        """Whether a data file is as it was when its digest was verified."""
        row = self._row(folder)
        known = None if row is None else row.files.get(name)
        return known is not None and signature(f"{self._base}{folder}/{name}") == known

    def add(self, folder: str, record: RunRecord, read: Signature | None) -> RunRecord:
        """Remember a finished run's record; return it, with what others have, too, shared.

        Args:
            folder: the run's, below the root.
            record: that was read.
            read: signature of ``run.json`` before it was read.
        """
        if record.checkpoint is None and self._is_same(f"{folder}/{RECORD}", read):
            own = _own(record)
            if _digest(self._template, own) != record.digest:  # of another cell than the last
                self._template = _template(record)
            if _digest(self._template, own) == record.digest:
                self._put(folder, (self._template, b"\t".join((_json(read), b"{}", *own))))
                row = self._row(folder)
                return record if row is None else row.record
        return record

    def verify(self, folder: str, files: Mapping[str, Signature | None]) -> None:
        """Remember that the digests of a run's data files were verified.

        Args:
            folder: the run's, below the root.
            files: signatures before they were read.
        """
        row = self._row(folder)
        if row and all(self._is_same(f"{folder}/{name}", read) for name, read in files.items()):
            template, line = self._lines[folder]
            read, _, own = line.split(b"\t", 2)
            self._put(folder, (template, b"\t".join((read, _json({**row.files, **files}), own))))

    def keep(self, folders: Iterable[str]) -> None:
        """Forget all runs but these."""
        for folder in self._lines.keys() - set(folders):
            self._put(folder, None)

    def save(self) -> None:
        """Write the file, if enough is new; where it cannot be written, it is not."""
        if self._new <= FEWEST + len(self._lines) // 100:
            return
        self._new = 0
        cells: dict[bytes, list[bytes]] = {}
        for folder, (template, line) in self._lines.items():
            cells.setdefault(template, [template]).append(folder.encode() + b"\t" + line)
        data = b"\n".join([_code(), *chain.from_iterable(cells.values())])
        with suppress(StorageError):  # a full disk, or a folder of somebody else's: no cache
            write_data(self._root / FILE, data)

    def _put(self, folder: str, line: tuple[bytes, bytes] | None) -> None:
        self._new += 1
        self._last = "", None
        if line is None:
            del self._lines[folder]
        else:
            self._lines[folder] = line

    def _is_same(self, path: str, read: Signature | None) -> bool:
        """Whether a file is what it was before it was read, and has been for a while."""
        if read is None or time.time_ns() - max(read[1], read[2]) <= LEAST_AGE_NS:
            return False
        return signature(self._base + path) == read

    def _row(self, folder: str) -> _Row | None:
        """What a line says; None where there is none, or it does not hold together."""
        if self._last[0] != folder:
            row = None
            with suppress(ValueError, KeyError):
                row = self._made(*self._lines[folder])
            self._last = folder, row
        return self._last[1]

    def _made(self, template: bytes, line: bytes) -> _Row:
        fields = line.split(b"\t")
        parts = map(b",".join, (fields[:7], fields[7:-3], fields[-3:]))
        read, files, began, digests, seed, process, resumed, values, *rest = _LINE.validate_json(
            b"[%s,[%s],%s]" % tuple(parts)
        )
        if template not in self._first:
            record = RunRecord.model_validate_json(_together(template, fields[2:]))
            self._first[template] = record
        first = self._first[template]
        own: dict[str, Any] = dict(
            zip(_OWN, (began, digests, process, resumed, *rest), strict=True)
        )
        own["identity"] = {**first.identity, "seed": seed}
        own["scalars"] = dict(zip(first.scalars, values, strict=True))
        own["digest"] = _digest(template, fields[2:])
        record = RunRecord.model_construct(first.model_fields_set, **first.__dict__ | own)
        return _Row(record, read, files)


def signature(path: str) -> Signature | None:
    """That of a regular file; None where there is none of that name."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _states(folder: str, digest: str) -> bool:
    """Whether the ``run.json`` in a folder, which is no link, begins with this digest."""
    with suppress(OSError):
        if stat.S_ISLNK(os.lstat(folder).st_mode):
            return False
        path = f"{folder}/{RECORD}"
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return f'\n "digest": "{digest}",\n'.encode() in os.read(descriptor, _HEAD)
        finally:
            os.close(descriptor)
    return False


def _own(record: RunRecord) -> list[bytes]:
    """What is the run's own, in the order in which it stands in canonical JSON."""
    table = record.model_dump(mode="json", include={*_OWN, "scalars"})
    began, digests, process, resumed, *rest = (table[key] for key in _OWN)
    scalars = [value for _, value in sorted(table["scalars"].items())]
    seed = record.identity["seed"]
    return [*map(_json, (began, digests, seed, process, resumed, *scalars, *rest))]


def _template(record: RunRecord) -> bytes:
    """What it shares with others of its cell, with a tab for each part of its own."""
    table = record.model_dump(mode="json", exclude={"digest"}) | dict.fromkeys(_OWN, _HOLE)
    table["identity"] |= {"seed": _HOLE}
    table["scalars"] = dict.fromkeys(table["scalars"], _HOLE)
    return _json(table).replace(_json(_HOLE), _HOLE.encode())


def _json(value: object) -> bytes:
    return canonical(value).encode()


def _together(template: bytes, own: Iterable[bytes]) -> bytes:
    """The record in canonical JSON."""
    return b"".join(chain.from_iterable(zip(template.split(b"\t"), [*own, b""], strict=False)))


def _digest(template: bytes, own: Iterable[bytes]) -> str:
    return hashlib.sha256(_together(template, own)).hexdigest()


@cache
def _code() -> bytes:
    """The sha256 of the code that reads records: another may find another record valid."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest().encode()
