"""``<root>/.index``: the records of finished runs, so that no later command reads them again.

A cache of the files, and never a second truth. What it says of a run counts only while
``run.json`` has the size, times of modification and change, and inode as when it was read, and
itself states the digest of the row and that the run is finished; a record that is asked for must
have that digest: a row that somebody else wrote is not believed. A program can set the time of
modification, and a copy keeps it; the time of change it cannot set. A file that changed less than a
minute before it was read is not remembered: a second change might fall into the same tick of the
file system's clock.

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
import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path

from uqbench.errors import StorageError
from uqbench.identity import canonical
from uqbench.results.folders import Folder, Signature
from uqbench.results.record_files import RECORD
from uqbench.results.records import Provenance, RunRecord

FILE = ".index"
MOST_BYTES = 2 << 30
LEAST_AGE_NS = 60_000_000_000
FEWEST = 100
"""New runs that are worth writing the file anew for, plus a hundredth of those in it."""
_ENDS = 400
"""First bytes of ``run.json`` that hold its digest, last ones its status: its keys are sorted."""
_HOLE = "\t"
"""In a record in place of what is the run's own: JSON has no tab but as an escape."""
_OWN = ("began", "digests", "process", "resumed", "step", "timing", "updated")
"""Fields that are the run's own, beside the seed and the values of the scalars."""
_NOTHING = Provenance(platform="", device="", versions={}, content={}, git_revision=None)
"""In place of a provenance that is known already."""


class RunCache:
    """What is remembered of the finished runs below a root.

    Args:
        root: of the store.
    """

    def __init__(self, root: Folder) -> None:
        self._root = root
        self._lines: dict[str, tuple[bytes, bytes]] = {}
        self._first: dict[bytes, tuple[RunRecord, bytes]] = {}
        self._new = 0
        self._template = template = b""
        with suppress(OSError, ValueError), root.open(FILE, MOST_BYTES) as file:
            known = file.readline(_ENDS) == _code() + b"\n"
            for line in file if known else ():
                folder, _, own = line.removesuffix(b"\n").partition(b"\t")
                if line.startswith(b"{"):
                    template = folder + b"\t" + own
                else:
                    self._lines[folder.decode("utf-8", "replace")] = template, own

    def is_finished(self, key: str, folder: Folder, name: str = RECORD) -> bool:
        """Whether a run's ``run.json`` says so, and is as it was when it was read.

        Args:
            key: the run's folder below the root, as text.
            folder: the run's, or the one that it is in.
            name: of the record in that folder.
        """
        if key not in self._lines:
            return False
        signature, digest, _ = self._lines[key][1].split(b"\t", 2)
        with suppress(OSError):
            there, head, tail = folder.ends(name, _ENDS)
            if (
                there is not None
                and b'\n "digest": "%b",\n' % digest in head
                and b'\n "status": "finished",\n' in tail
                and _text(there) == signature
            ):
                return True
        self._put(key, None)
        return False

    def read(self, key: str, folder: Folder) -> RunRecord | None:
        """The record of a finished run whose ``run.json`` is as it was when it was read."""
        if not self.is_finished(key, folder):
            return None
        template, line = self._lines[key]
        _, digest, _, *own = line.split(b"\t")
        if template not in self._first:
            with suppress(ValueError):
                record = RunRecord.model_validate_json(_together(template, own))
                if _template(record) == template:
                    self._first[template] = record, _short(template)
        if template not in self._first or _digest(template, own).encode() != digest:
            self._put(key, None)  # somebody else wrote the line
            return None
        first, short = self._first[template]
        record = RunRecord.model_validate_json(_together(short, own))
        return _shared(record, first, digest.decode())

    def is_verified(self, key: str, files: Mapping[str, Signature | None]) -> bool:
        """Whether data files are as they were when their digests were verified."""
        if key not in self._lines:
            return False
        return self._lines[key][1].split(b"\t", 3)[2] == _files(files)

    def add(self, key: str, record: RunRecord, read: Signature | None, folder: Folder) -> RunRecord:
        """Remember a finished run's record; return it, with what others have, too, shared.

        Args:
            key: the folder below the root, as text.
            record: that was read.
            read: signature of ``run.json`` before it was read.
            folder: the run's.
        """
        if record.checkpoint is None and read is not None and _is_same({RECORD: read}, folder):
            own = _own(record)
            if _digest(self._template, own) != record.digest:  # of another cell than the last
                self._template = _template(record)
            if _digest(self._template, own) == record.digest:
                line = b"\t".join((_text(read), record.digest.encode(), b"", *own))
                self._put(key, (self._template, line))
                first, _ = self._first.setdefault(self._template, (record, _short(self._template)))
                return _shared(record, first, record.digest)
        return record

    def verify(self, key: str, files: Mapping[str, Signature | None], folder: Folder) -> None:
        """Remember that the digests of a run's data files were verified.

        Args:
            key: the folder below the root, as text.
            files: signatures before they were read.
            folder: the run's.
        """
        if key in self._lines and _is_same(files, folder):
            template, line = self._lines[key]
            read, digest, _, own = line.split(b"\t", 3)
            self._put(key, (template, b"\t".join((read, digest, _files(files), own))))

    def keep(self, keys: Iterable[str]) -> None:
        """Forget all runs but these."""
        for key in self._lines.keys() - set(keys):
            self._put(key, None)

    def save(self) -> None:
        """Write the file, if enough is new; where it cannot be written, it is not."""
        if self._new <= FEWEST + len(self._lines) // 100:
            return
        self._new = 0
        cells: dict[bytes, list[bytes]] = {}
        for key, (template, line) in self._lines.items():
            cells.setdefault(template, [template]).append(key.encode() + b"\t" + line)
        data = b"\n".join([_code(), *chain.from_iterable(cells.values())])
        with suppress(StorageError):  # a full disk, or a folder of somebody else's: no cache
            self._root.write(FILE, data)

    def _put(self, key: str, line: tuple[bytes, bytes] | None) -> None:
        self._new += 1
        if line is None:
            del self._lines[key]
        else:
            self._lines[key] = line


def _shared(record: RunRecord, first: RunRecord, digest: str) -> RunRecord:
    """The same record, with what it has from the template in memory once for its cell."""
    identity = {**first.identity, "seed": record.identity["seed"]}
    same = {"identity": identity, "metrics": first.metrics, "provenance": first.provenance}
    return record.model_copy(update={**same, "digest": digest})


def _short(template: bytes) -> bytes:
    """The template without what is in memory once for its cell, which is most of it."""
    table = json.loads(template.replace(_HOLE.encode(), _json(_HOLE)))
    same = {"identity": {"seed": _HOLE}, "metrics": {}, "provenance": _NOTHING.model_dump()}
    return _json({**table, **same}).replace(_json(_HOLE), _HOLE.encode())


def _is_same(files: Mapping[str, Signature | None], folder: Folder) -> bool:
    """Whether files are what they were before they were read, and have been for a while."""
    latest = time.time_ns() - LEAST_AGE_NS
    return all(read is not None and max(read[1], read[2]) < latest for read in files.values()) and (
        folder.signatures(*files) == [*files.values()]
    )


def _text(signature: Signature) -> bytes:
    return b"%d,%d,%d,%d" % signature


def _files(files: Mapping[str, Signature | None]) -> bytes:
    return b";".join(name.encode() + b"," + _text(s) for name, s in files.items() if s is not None)


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
