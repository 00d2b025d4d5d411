"""``.index`` of a store: what finished runs said when their files matched their digests.

A row is a run: its folder, what its record says, and a mark, the sha256 of both and of the
signatures of its files: sizes, times of modification and change, and inodes. It counts as long as
the files have these. A program can set the time of modification, and a copy keeps it; neither holds
for the time of change and the inode. So no row can be made for files that one does not have here,
and a row that was edited has another mark: what does not match is read from ``run.json`` and
hashed, as if there were no index.

What records have in common is in the file's metadata once. A run whose files changed less than a
minute ago is not remembered: a second change might fall into the same tick of the file system's
clock.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, create_model

from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.identity import canonical, digest_of
from uqbench.results.folders import Folder, Signature, is_folder, signature
from uqbench.results.record_files import RECORD
from uqbench.results.records import RunRecord
from uqbench.results.tables import FILES, parse_table, table_bytes

if TYPE_CHECKING:
    import pyarrow as pa

FILE = ".index"
MOST_BYTES = 1 << 30
LEAST_AGE_NS = 60_000_000_000
FEWEST = 100
"""New runs that are worth writing the file anew for; of many known ones, a fiftieth is."""
UNREADABLE = (OSError, LookupError, TypeError, ValueError, UqbenchError)
"""Errors of a file that is no index; without PyArrow, or of nested columns, it is none either."""
COLUMNS = ("place", "mark", "kind", "own")
LIKE = b"like"
"""Key of the file's metadata: a record of each kind."""
OWN = ("step", "began", "updated", "process", "resumed", "timing", "learning", "digests", "digest")
"""Fields of a record that are its own, beside its seed and the values of its scalars."""
_FIELDS: dict[str, Any] = {name: (of.annotation, of) for name, of in RunRecord.model_fields.items()}
_Own = create_model(
    "_Own", seed=(int, ...), values=(list[float | None], ...), **{n: _FIELDS[n] for n in OWN}
)
_LIKE = TypeAdapter(list[RunRecord])


class Verified:
    """The runs below a root that were verified.

    Args:
        root: of the store.
    """

    def __init__(self, root: Folder) -> None:
        self._root, self._cell = root, ("", "")
        self._like: dict[str, RunRecord] = {}
        self._new: dict[str, tuple[str, str, str]] = {}
        self._own: Any = ()  # of the file's rows

    def get(self, place: str, own: bool = True) -> RunRecord | None:
        """The record of a run whose files are as they were when it was verified.

        Args:
            place: folder of the run.
            own: whether it is asked for; else that of any run with all in common that runs can.
        """
        row = self._new.get(place) or self._known.get(place)
        if row is None:
            return None
        mark, kind, at = row
        cell, _, leaf = place.rpartition("/")
        try:
            if self._cell[0] != cell:
                self._cell = cell, str(self._root.at(cell).way())
            folder, like = f"{self._cell[1]}/{leaf}", self._like[kind]
            if not is_folder(folder):
                return None
            text = at if isinstance(at, str) else self._own[at].as_py()
            files = {name: signature(f"{folder}/{name}") for name in signed(like)}
            if mark != _mark(place, kind, text, files):
                return None
            if not own:
                return like
            said: dict[str, Any] = {**vars(_Own.model_validate_json(text))}
        except (OSError, LookupError, ValueError):
            return None
        identity = {**like.identity, "seed": said.pop("seed")}
        scalars = dict(zip(like.scalars, said.pop("values"), strict=True))
        return like.model_copy(update={**said, "identity": identity, "scalars": scalars})

    def add(self, place: str, files: Mapping[str, Signature | None], record: RunRecord) -> None:
        """Remember a run whose files had these signatures before they were verified."""
        files = {name: files[name] for name in signed(record)}
        latest = time.time_ns() - LEAST_AGE_NS
        if all(max(of[1], of[2]) < latest for of in files.values() if of is not None):
            kind, text = _parts(record)
            self._like.setdefault(kind, record)
            self._new[place] = _mark(place, kind, text, files), kind, text

    def save(self) -> bool:
        """Write the file anew, if enough is new; whether it was."""
        if len(self._new) <= max(FEWEST, len(self._known) // 50):
            return False
        with suppress(ImportError, StorageError):  # a full disk, or a folder of somebody else's
            import pyarrow as pa

            old = [] if self._table is None else self._table.to_pylist()
            rows = [row for row in old if row["place"] not in self._new]
            rows += [dict(zip(COLUMNS, (at, *row), strict=True)) for at, row in self._new.items()]
            table = pa.Table.from_pylist(rows, _schema())
            about = {LIKE: _LIKE.dump_json([*self._like.values()])}
            data = table_bytes(table.replace_schema_metadata(about))
            self._root.write(FILE, data, flush=False)
            return True
        return False

    @cached_property
    def _table(self) -> pa.Table | None:
        """The rows of the file; None where there is no index that can be read."""
        with suppress(ImportError, NotImplementedError, *UNREADABLE):
            table = parse_table(self._root.read(FILE, MOST_BYTES), FILE)
            for record in _LIKE.validate_json(table.schema.metadata[LIKE]):
                self._like[_parts(record)[0]] = record
            return table.select(COLUMNS).cast(_schema())
        return None

    @cached_property
    def _known(self) -> dict[str, tuple[str, str, int]]:
        """Marks, kinds and rows of the file by the folders of runs."""
        if self._table is None:
            return {}
        self._own = self._table["own"]
        columns = (self._table[name].to_pylist() for name in COLUMNS[:3])
        rows = enumerate(zip(*columns, strict=True))
        return {place: (mark, kind, i) for i, (place, mark, kind) in rows}


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, pa.large_string()) for name in COLUMNS])


def signed(record: RunRecord) -> list[str]:
    """The files that a finished run's mark is of."""
    return [RECORD, *(name for name in FILES if name in record.digests)]


def _parts(record: RunRecord) -> tuple[str, str]:
    """A digest of what a record has in common with others of its kind; and its own, as JSON."""
    table = record.model_dump(mode="json")
    own = {name: table.pop(name) for name in OWN}
    own["seed"], own["values"] = table["identity"].pop("seed"), [*table["scalars"].values()]
    return digest_of([*table.pop("scalars"), signed(record), table]), canonical(own)


def _mark(place: str, kind: str, own: str, files: Mapping[str, Signature | None]) -> str:
    return sha256(f"{place}\n{kind}\n{files}\n{own}".encode()).hexdigest()
