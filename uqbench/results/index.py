"""``<root>/.index``: what was read of finished runs, so that no later command reads it again.

A cache of the files, and never a second truth: what it says of a file counts only while the file
has the same size, times of modification and change, and inode as when it was read. A program can
set the time of modification, and a copy keeps it; the time of change it cannot set, so that an
altered file is read again, and an index that was copied along with a results folder says nothing
about the copy. A file that changed less than a minute before it was read is not remembered: a
second change might fall into the same tick of the file system's clock.

Only finished runs without a checkpoint are remembered, which no longer change. An index that is
damaged, or was written by other code than this, is ignored, and written anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from uqbench.errors import StorageError
from uqbench.results.files import write_whole
from uqbench.results.index_file import (
    INDEX,
    Row,
    Session,
    Shared,
    Signature,
    code,
    read_index,
    signature,
)
from uqbench.results.record_files import RECORD
from uqbench.results.records import RunRecord, Timing

SETTLED_NS = 60_000_000_000
FEWEST = 100
"""New runs that are worth writing the index anew for, plus a hundredth of those in it."""


Frozen = TypeVar("Frozen", bound=BaseModel)


class Index:
    """What is remembered of the runs below a root.

    Args:
        root: of the store.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._base = f"{root}{os.sep}"
        body = read_index(root / INDEX)
        self._shared, self._sessions = body.shared, body.sessions
        self._rows = {
            f"{cell}/{leaf}": row for cell, rows in body.rows.items() for leaf, row in rows.items()
        }
        self._shared_at = {part.model_dump_json(): n for n, part in enumerate(self._shared)}
        self._sessions_at = {part.model_dump_json(): n for n, part in enumerate(self._sessions)}
        self._likes: dict[tuple[int, int], RunRecord] = {}
        self._made_before: dict[str, RunRecord] = {}
        self._new = 0

    def record(self, folder: str) -> RunRecord | None:
        """The record of a finished run whose ``run.json`` is as it was when it was read."""
        row = self._rows.get(folder)
        if row is None:
            return None
        path = self._base + folder
        try:
            is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
        except OSError:
            is_folder = False
        if not is_folder or signature(f"{path}/{RECORD}") != row[0]:
            del self._rows[folder]
            self._made_before.pop(folder, None)
            return None
        made = self._made_before.get(folder) or self._made(Row(*row))
        if made is not None:
            self._made_before[folder] = made
        return made

    def is_verified(self, folder: str, name: str) -> bool:
        """Whether a data file is as it was when its digest was verified."""
        row = self._rows.get(folder)
        known = None if row is None else row[1].get(name)
        return known is not None and signature(f"{self._base}{folder}/{name}") == known

    def remember(self, folder: str, record: RunRecord, read: Signature | None) -> RunRecord:
        """Remember a finished run's record; return it, with what others have, too, shared.

        Args:
            folder: the run's, below the root.
            record: that was read.
            read: signature of ``run.json`` before it was read.
        """
        if read is None or record.checkpoint is not None or record.traceback is not None:
            return record
        if not self._is_settled(read, f"{folder}/{RECORD}") or record.reason is not None:
            return record
        shared = Shared.model_construct(
            schema_version=record.schema_version,
            identity={k: v for k, v in record.identity.items() if k != "seed"},
            provenance=record.provenance,
            metrics=record.metrics,
            scalars=tuple(record.scalars),
        )
        session = Session.model_construct(process=record.process, resumed=record.resumed)
        timing = record.timing
        row = Row(
            record=read,
            files={},
            shared=_place(shared, self._shared, self._shared_at),
            session=_place(session, self._sessions, self._sessions_at),
            seed=record.identity["seed"],
            step=record.step,
            began=record.began,
            updated=record.updated,
            timing=None if timing is None else (timing.seconds, timing.lanes, timing.steps_per_s),
            scalars=list(record.scalars.values()),
            digests=record.digests,
            digest=record.digest,
        )
        self._rows[folder] = row
        self._new += 1
        self._made_before[folder] = self._made(row) or record
        return self._made_before[folder]

    def verified(self, folder: str, files: Mapping[str, Signature | None]) -> None:
        """Remember that the digests of a run's data files were verified.

        Args:
            folder: the run's, below the root.
            files: signatures before they were read.
        """
        row = self._rows.get(folder)
        if row is None:
            return
        settled = {
            name: read
            for name, read in files.items()
            if read is not None and self._is_settled(read, f"{folder}/{name}")
        }
        if settled.keys() == files.keys():
            row[1].update(settled)
            self._new += 1

    def keep(self, folders: Iterable[str]) -> None:
        """Forget all runs but these."""
        kept = set(folders)
        gone = [folder for folder in self._rows if folder not in kept]
        for folder in gone:
            del self._rows[folder]
        self._new += len(gone)

    def save(self) -> None:
        """Write the index, if enough is new; where it cannot be written, it is not."""
        if self._new <= FEWEST + len(self._rows) // 100:
            return
        self._new = 0
        data = self._body()
        header = {"code": code(), "sha256": hashlib.sha256(data).hexdigest()}
        lines = json.dumps(header).encode() + b"\n" + data
        with suppress(StorageError):  # a full disk, or a folder of somebody else's: no cache
            write_whole(self._root / INDEX, lambda file: file.write(lines))

    def _body(self) -> bytes:
        """The body in JSON, with those shared parts alone that rows refer to."""
        shared: dict[int, int] = {}
        sessions: dict[int, int] = {}
        rows: dict[str, dict[str, Any]] = {}
        for folder, row in self._rows.items():
            cell, _, leaf = folder.rpartition("/")
            parts = (
                shared.setdefault(row[2], len(shared)),
                sessions.setdefault(row[3], len(sessions)),
            )
            rows.setdefault(cell, {})[leaf] = (*row[:2], *parts, *row[4:])
        table = {
            "shared": [self._shared[n].model_dump(mode="json") for n in shared],
            "sessions": [self._sessions[n].model_dump(mode="json") for n in sessions],
            "rows": rows,
        }
        return json.dumps(table, separators=(",", ":")).encode()

    def _is_settled(self, read: Signature, path: str) -> bool:
        """Whether a file is what it was before it was read, and has been for a while."""
        since = time.time_ns() - max(read[1], read[2])
        return since > SETTLED_NS and signature(self._base + path) == read

    def _made(self, row: Row) -> RunRecord | None:
        """The record; None where the index does not hold together."""
        try:
            shared, like = self._shared[row.shared], self._like(row.shared, row.session)
            scalars = dict(zip(shared.scalars, row.scalars, strict=True))
        except (IndexError, ValueError):
            return None
        own = {
            "identity": {**shared.identity, "seed": row.seed},
            "step": row.step,
            "began": row.began,
            "updated": row.updated,
            "scalars": scalars,
            "digests": row.digests,
            "digest": row.digest,
        }
        if row.timing is not None:
            seconds, lanes, speed = row.timing
            own["timing"] = _copied(
                _TIMING, {"seconds": seconds, "lanes": lanes, "steps_per_s": speed}
            )
        return _copied(like, own)

    def _like(self, shared: int, session: int) -> RunRecord:
        """A record of the same cell and process, of which the others are copies."""
        key = shared, session
        if key not in self._likes:
            cell, process = self._shared[shared], self._sessions[session]
            self._likes[key] = RunRecord.model_construct(
                set(RunRecord.model_fields),
                schema_version=cell.schema_version,
                status="finished",
                process=process.process,
                provenance=cell.provenance,
                resumed=process.resumed,
                metrics=cell.metrics,
            )
        return self._likes[key]


_TIMING = Timing(seconds=0.0, lanes=1, steps_per_s=1.0)


def _copied(like: Frozen, own: Mapping[str, Any]) -> Frozen:
    """``like.model_copy(update=own)`` of a frozen model, for a hundred thousand of them.

    It shares what a copy of its own would be made of: the set of the names of its fields.
    """
    made = object.__new__(type(like))  # what model_copy does, without its checks
    object.__setattr__(made, "__dict__", {**like.__dict__, **own})
    object.__setattr__(made, "__pydantic_fields_set__", like.__pydantic_fields_set__)
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made


def _place(part: BaseModel, parts: list[Any], places: dict[str, int]) -> int:
    """Where a shared part is in the list, once it is there."""
    key = part.model_dump_json()
    if key not in places:
        places[key] = len(parts)
        parts.append(part)
    return places[key]
