"""``<root>/.index``: the records of finished runs, so that no later command reads them again.

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
without a lock, and no journal beside it is replayed. A line has what is the run's own, in canonical
JSON; what the runs of a cell share is a line above them, with a tab wherever something of a run's
own belongs.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from uqbench.errors import StorageError
from uqbench.identity import canonical, digest_of
from uqbench.results.folders import Folder, Signature
from uqbench.results.record_files import RECORD
from uqbench.results.records import Process, Resumed, RunRecord, Timing
from uqbench.results.states import RunState, StoredRun

FILE = ".index"
MOST_BYTES = 2 << 30
_HEAD = 200
"""Bytes of the first line at most: two digests."""
_OTHERS = 0o022
"""Bits of a file's mode that let others write to it."""
LEAST_AGE_NS = 60_000_000_000
_KNOWN = 3
"""Columns of a line before the run's own: signature, digest of the identity, data files."""
FEWEST = 100
"""New runs that are worth writing the file anew for, plus a hundredth of those in it."""
_HOLE = "\t"
"""In a record in place of what is the run's own: JSON has no tab but as an escape."""
_OWN = ("began", "digests", "process", "resumed", "step", "timing", "updated")
"""Fields that are the run's own, beside the seed and the values of the scalars."""


class RunCache:
    """What is remembered of the finished runs below a root.

    Args:
        root: of the store.
    """

    def __init__(self, root: Folder) -> None:
        self._root = root
        self._lines: dict[str, tuple[bytes, bytes]] = {}
        self._first: dict[bytes, RunRecord] = {}
        self._new = 0
        self._template = template = b""
        lines: dict[str, tuple[bytes, bytes]] = {}
        with suppress(OSError, ValueError), root.open(FILE, MOST_BYTES) as file:
            about, digest = os.fstat(file.fileno()), hashlib.sha256()
            code, _, stated = file.readline(_HEAD).strip().partition(b" ")
            own = about.st_uid == os.geteuid() and not about.st_mode & _OTHERS
            for line in file if own and code == _code() else ():
                digest.update(line)
                place, _, rest = line.removesuffix(b"\n").partition(b"\t")
                if place:
                    lines[place.decode("utf-8", "replace")] = template, rest
                else:
                    template = rest
            if digest.hexdigest().encode() == stated:
                self._lines = lines

    def is_finished(self, key: str, folder: Folder, name: str = RECORD) -> bool:
        """Whether a run's ``run.json`` said so, and is as it was when it was read.

        Args:
            key: the run's folder below the root, as text.
            folder: the run's, or the one that it is in.
            name: of the record in that folder.
        """
        if key not in self._lines:
            return False
        [there] = folder.signatures(name)
        if there is not None and self._lines[key][1].startswith(_text(there) + b"\t"):
            return True
        del self._lines[key]  # it is added again, if it is finished still
        return False

    def verified(self, key: str, digest: str, above: Folder) -> StoredRun | None:
        """A finished run, if all its files are as when their digests were verified.

        Args:
            key: the run's folder below the root, as text.
            digest: of the run's identity.
            above: the folder that it is in.
        """
        if key not in self._lines:
            return None
        template, line = self._lines[key]
        read, identity, files, *own = line.split(b"\t")
        leaf, known = key.rpartition("/")[2], [part.split(b",", 1) for part in files.split(b";")]
        if not files or identity.decode() != digest or not above.has_folder(leaf):
            return None
        names = [RECORD, *(name.decode() for name, _ in known)]
        there = above.signatures(*(f"{leaf}/{name}" for name in names))
        if [one and _text(one) for one in there] != [read, *(text for _, text in known)]:
            return None
        made = self._first_of(template, own).provenance
        return StoredRun(RunState.FINISHED, partial(self._record, template, line), _provenance=made)

    def read(self, key: str, folder: Folder) -> RunRecord | None:
        """The record of a finished run whose ``run.json`` is as it was when it was read."""
        return self._record(*self._lines[key]) if self.is_finished(key, folder) else None

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
            # a folder from elsewhere cannot be named like lines
            if key.isprintable() and _digest(self._template, own) == record.digest:
                identity = digest_of(record.identity).encode()
                line = b"\t".join((_text(read), identity, b"", *own))
                self._put(key, self._template, line)
                return self._record(self._template, line)
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
            read, identity, _, own = line.split(b"\t", _KNOWN)
            self._put(key, template, b"\t".join((read, identity, _files(files), own)))

    def keep(self, keys: Iterable[str]) -> None:
        """Forget all runs but these."""
        for key in self._lines.keys() - set(keys):
            del self._lines[key]
            self._new += 1

    def save(self) -> None:
        """Write the file, if enough is new; where it cannot be written, it is not."""
        if self._new <= FEWEST + len(self._lines) // 100:
            return
        self._new = 0
        cells: dict[bytes, list[bytes]] = {}
        for key, (template, line) in self._lines.items():
            cells.setdefault(template, [b"\t" + template]).append(key.encode() + b"\t" + line)
        data = b"".join(line + b"\n" for line in chain.from_iterable(cells.values()))
        first = b"%b %b\n" % (_code(), hashlib.sha256(data).hexdigest().encode())

        def write(file: BinaryIO) -> None:
            os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & ~_OTHERS)
            file.writelines((first, data))

        with suppress(StorageError):  # a full disk, or a folder of somebody else's: no cache
            self._root.write(FILE, write)

    def _record(self, template: bytes, line: bytes) -> RunRecord:
        """A run's record: that of another of its cell, with its own values."""
        own = line.split(b"\t")[_KNOWN:]
        first, values = self._first_of(template, own), json.loads(b"[%b]" % b",".join(own))
        began, digests, seed, process, resumed, *scalars, step, timing, updated = values
        parts = {
            "identity": {**first.identity, "seed": seed}, "digest": _digest(template, own),
            "scalars": dict(zip(sorted(first.scalars), scalars, strict=True)), "step": step,
            "began": began, "updated": updated, "process": Process.model_construct(**process),
            "resumed": tuple(Resumed.model_construct(**each) for each in resumed),
            "timing": timing and Timing.model_construct(**timing), "digests": digests,
        }  # fmt: skip
        return first.model_copy(update=parts)

    def _first_of(self, template: bytes, own: Iterable[bytes]) -> RunRecord:
        """A record of a cell, in memory once for all."""
        if template not in self._first:
            self._first[template] = RunRecord.model_validate_json(_together(template, own))
        return self._first[template]

    def _put(self, key: str, template: bytes, line: bytes) -> None:
        self._new += 1
        self._lines[key] = template, line


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
