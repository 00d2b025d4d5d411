"""``.index`` of each cell: the records of its finished runs, so that no later command reads them.

A cache of the files, and never a second truth. What it says of a run counts only while
``run.json`` has the size, times of modification and change, and inode as when it was read. A
program can set the time of modification, and a copy keeps it; the time of change it cannot set. A
file that changed less than a minute before it was read is not remembered: a second change might
fall into the same tick of the file system's clock.

Results come from anywhere, and whoever wrote the cache could state anything in it. So it is
believed only by who wrote it: the file must belong to this user and nobody else may write to it,
as a key of ``ssh``. Its first line has the digest of the rest, so that a damaged one is ignored,
and that of the code that reads records; a file of other code is written anew.

Only finished runs without a checkpoint are remembered, which no longer change. The file is text, a
line a run, and no database: it is read and replaced as every other file here, on any file system,
without a lock, and no journal beside it is replayed. It is in the folder of the cell, with which it
goes; besides what is new, the lines of one cell at a time are in memory. A line has what is the
run's own, below the record of a run of its cell, from which it differs in that alone; both are
canonical JSON.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import from_json

from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.identity import canonical, digest_of
from uqbench.results.folders import Folder, Signature, is_own, keep_own
from uqbench.results.record_files import RECORD
from uqbench.results.records import Process, Resumed, RunRecord, Timing

FILE = ".index"
MOST_BYTES = 2 << 30
_HEAD = 200
"""Bytes of the first line at most: two digests."""
_UNREADABLE = (OSError, ValueError, UqbenchError)
LEAST_AGE_NS = 60_000_000_000
FEWEST = 100
"""New runs that are worth writing files anew for."""
_OWN = (
    "began", "digest", "digests", "process", "resumed", "scalars", "step", "timing", "updated",
)  # fmt: skip
"""Fields of a record that are the run's own, beside its seed."""
_Lines = dict[str, tuple[bytes, bytes]]
"""Of a cell: the shared record and the line, by the last name of the run's folder.

Columns of a line: signatures of ``run.json`` and, once they are verified, of the data files, digest
of the identity, what is the run's own.
"""


class RunCache:
    """What is remembered of the finished runs below a root.

    Args:
        root: of the store.
    """

    def __init__(self, root: Folder) -> None:
        self._root = root
        self._new = 0
        self._changed: dict[str, _Lines] = {}
        self._last: tuple[str, _Lines] = "", {}
        self._first: dict[bytes, RunRecord] = {}
        self._shared = b""

    def _of(self, cell: str) -> _Lines:
        """What is remembered of a cell's runs."""
        if cell in self._changed:
            return self._changed[cell]
        if self._last[0] != cell:
            self._last = cell, self._read(cell)
        return self._last[1]

    def _read(self, cell: str) -> _Lines:
        lines, shared = _Lines(), b""
        with suppress(*_UNREADABLE), self._root.at(cell).open(FILE, MOST_BYTES) as file:
            own, first, data = is_own(os.fstat(file.fileno())), file.readline(_HEAD), file.read()
            for line in data.splitlines() if own and first == _first_line(data) else ():
                leaf, _, rest = line.partition(b"\t")
                if leaf:
                    lines[leaf.decode()] = shared, rest
                else:
                    shared = rest
        return lines

    def is_finished(self, key: str, folder: Folder, name: str = RECORD) -> bool:
        """Whether a run's ``run.json`` said so, and is as it was when it was read.

        Args:
            key: the run's folder below the root, as text.
            folder: the run's, or the one that it is in.
            name: of the record in that folder.
        """
        cell, _, leaf = key.rpartition("/")
        if leaf not in self._of(cell):
            return False
        [there] = folder.signatures(name)
        if re.split(rb"[;\t]", self._of(cell)[leaf][1], maxsplit=1)[0] == _files({RECORD: there}):
            return True
        del self._change(cell)[leaf]  # it is added again, if it is finished still
        return False

    def verified(self, key: str, digest: str, above: Folder) -> RunRecord | None:
        """The shared record of a finished run, if its files are as when they were verified.

        Args:
            key: the run's folder below the root, as text.
            digest: of the run's identity.
            above: the folder that it is in.
        """
        cell, _, leaf = key.rpartition("/")
        if leaf not in (lines := self._of(cell)):
            return None
        shared, line = lines[leaf]
        files, identity, _ = line.split(b"\t")
        names = [part.partition(b",")[0].decode() for part in files.split(b";")]
        if len(names) == 1 or identity.decode() != digest:
            return None
        there = above.signatures(*names, inside=leaf)
        same = _files(dict(zip(names, there, strict=True))) == files
        return self._first_of(shared) if same else None

    def record(self, key: str) -> RunRecord | None:
        """What is remembered of a run: the record of another of its cell, with its own values."""
        cell, _, leaf = key.rpartition("/")
        lines = self._of(cell)
        return _record(self._first_of(lines[leaf][0]), lines[leaf][1]) if leaf in lines else None

    def read(self, key: str, folder: Folder) -> RunRecord | None:
        """The record of a finished run whose ``run.json`` is as it was when it was read."""
        return self.record(key) if self.is_finished(key, folder) else None

    def add(self, key: str, record: RunRecord, read: Signature | None, folder: Folder) -> RunRecord:
        """Remember a finished run's record; return it, with what others have, too, shared.

        Args:
            key: the folder below the root, as text.
            record: that was read.
            read: signature of ``run.json`` before it was read.
            folder: the run's.
        """
        plain = key.isprintable()  # a folder from elsewhere cannot be named like lines
        if plain and not record.checkpoint and _is_same({RECORD: read}, folder):
            cell, _, leaf = key.rpartition("/")
            identity = digest_of(record.identity).encode()
            line = b"\t".join((_files({RECORD: read}), identity, _own(record)))
            if not self._shared or _record(self._first_of(self._shared), line) != record:
                self._shared = canonical(record.model_dump(mode="json")).encode()  # another cell
            self._change(cell)[leaf] = self._shared, line
            return _record(self._first_of(self._shared), line)
        return record

    def verify(self, key: str, files: Mapping[str, Signature | None], folder: Folder) -> None:
        """Remember that the digests of a run's data files were verified.

        Args:
            key: the folder below the root, as text.
            files: signatures before they were read.
            folder: the run's.
        """
        cell, _, leaf = key.rpartition("/")
        if leaf in self._of(cell) and _is_same(files, folder):
            shared, line = self._of(cell)[leaf]
            before, identity, own = line.split(b"\t")
            known = b";".join((before.partition(b";")[0], _files(files)))
            self._change(cell)[leaf] = shared, b"\t".join((known, identity, own))

    def save(self) -> None:
        """Write the cells that changed, if enough is new; where they cannot be written, not."""
        if self._new <= FEWEST:
            return
        for cell, lines in self._changed.items():
            parts, last = [b""], b""
            for leaf, (shared, line) in lines.items():
                if shared != last:
                    parts.append(b"\t%b\n" % shared)
                parts.append(b"%b\t%b\n" % (leaf.encode(), line))
                last = shared
            with suppress(StorageError):  # a full disk, or a folder of somebody else's: no cache
                self._root.at(cell).write(FILE, partial(_write, b"".join(parts)), flush=False)
        self._new, self._changed, self._last = 0, {}, ("", {})

    def _change(self, cell: str) -> _Lines:
        """The lines of a cell, to be changed."""
        self._new += 1
        return self._changed.setdefault(cell, self._of(cell))

    def _first_of(self, shared: bytes) -> RunRecord:
        """The record that a cell's runs share, in memory once for all."""
        if shared not in self._first:
            self._first[shared] = RunRecord.model_validate_json(shared)
        return self._first[shared]


def _is_same(files: Mapping[str, Signature | None], folder: Folder) -> bool:
    """Whether files are what they were before they were read, and have been for a while."""
    latest = time.time_ns() - LEAST_AGE_NS
    return all(read is not None and max(read[1], read[2]) < latest for read in files.values()) and (
        folder.signatures(*files) == [*files.values()]
    )


def _first_line(data: bytes) -> bytes:
    return b"%b %b\n" % (_code(), hashlib.sha256(data).hexdigest().encode())


def _write(data: bytes, file: BinaryIO) -> None:
    keep_own(file)
    file.writelines((_first_line(data), data))


def _files(files: Mapping[str, Signature | None]) -> bytes:
    return b";".join(b"%b,%d,%d,%d,%d" % (name.encode(), *s) for name, s in files.items() if s)


def _own(record: RunRecord) -> bytes:
    """What is the run's own: its seed, and the fields by name; scalars in the order of theirs."""
    table: dict[str, Any] = record.model_dump(mode="json", include={*_OWN})
    table["scalars"] = [value for _, value in sorted(table["scalars"].items())]
    return canonical([record.identity["seed"], *(table[name] for name in _OWN)]).encode()


def _record(first: RunRecord, line: bytes) -> RunRecord:
    """A run's record: that of another of its cell, with its own values."""
    seed, *values = from_json(line.rpartition(b"\t")[2])
    own = dict(zip(_OWN, values, strict=True))
    own["identity"] = {**first.identity, "seed": seed}
    own["process"] = Process(**own["process"])
    own["resumed"] = tuple(Resumed(**each) for each in own["resumed"])
    own["scalars"] = dict(zip(first.scalars, own["scalars"], strict=False))  # from sorted JSON
    own["timing"] = own["timing"] and Timing(**own["timing"])
    return first.model_copy(update=own)


@cache
def _code() -> bytes:
    """The sha256 of the code that reads records: another may find another record valid."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest().encode()
