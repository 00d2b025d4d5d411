"""``.index`` of each cell: which runs' files matched their digests, so that none is hashed twice.

A line names a run and has a digest of its files' signatures: of ``run.json`` and of every data
file, with sizes, times of modification and change, and inodes. The run is verified as long as its
files have these. A program can set the time of modification, and a copy keeps it; neither holds
for the time of change and the inode. So a line cannot be made for files that one does not have
here, and nothing else is taken from the index: what a run says is always read from ``run.json``.

A run whose files changed less than a minute ago is not remembered: a second change might fall into
the same tick of the file system's clock. Lines of any other form are ignored.
"""

import re
import time
from contextlib import suppress
from hashlib import sha256

from uqbench.contract.errors import StorageError
from uqbench.results.folders import Folder, Signature

FILE = ".index"
MOST_BYTES = 64 << 20
LEAST_AGE_NS = 60_000_000_000
FEWEST = 100
"""New runs that are worth writing files anew for."""
_LINE = re.compile(rb"^([0-9]+-[0-9a-f]{8}) ([0-9a-f]{64})$", re.MULTILINE)
Signatures = list[Signature | None]


class Verified:
    """The runs below a root that were verified.

    Args:
        root: of the store.
    """

    def __init__(self, root: Folder) -> None:
        self._root = root
        self._new = 0
        self._changed: dict[str, dict[str, str]] = {}
        self._last: tuple[str, dict[str, str]] = "", {}

    def has(self, place: str, files: Signatures) -> bool:
        """Whether a run was verified while its files had these signatures."""
        cell, _, leaf = place.rpartition("/")
        return self._of(cell).get(leaf) == _mark(files)

    def add(self, place: str, files: Signatures) -> None:
        """Remember a run whose files had these signatures before they were verified."""
        latest = time.time_ns() - LEAST_AGE_NS
        if all(max(of[1], of[2]) < latest for of in files if of is not None):
            cell, _, leaf = place.rpartition("/")
            self._changed.setdefault(cell, self._of(cell))[leaf] = _mark(files)
            self._new += 1

    def save(self) -> None:
        """Write the cells that changed, if enough is new."""
        if self._new <= FEWEST:
            return
        for cell, marks in self._changed.items():
            text = "".join(f"{leaf} {mark}\n" for leaf, mark in marks.items())
            with suppress(StorageError):  # a full disk, or a folder of somebody else's: no index
                self._root.at(cell).write(FILE, text.encode(), flush=False)
        self._new, self._changed = 0, {}

    def _of(self, cell: str) -> dict[str, str]:
        """The marks of a cell's runs; of the cells without changes the last one is in memory."""
        if cell in self._changed:
            return self._changed[cell]
        if self._last[0] != cell:
            data = b""
            with suppress(OSError, ValueError):  # no index, or none that can be read
                data = self._root.at(cell).read(FILE, MOST_BYTES)
            self._last = cell, {leaf.decode(): mark.decode() for leaf, mark in _LINE.findall(data)}
        return self._last[1]


def _mark(files: Signatures) -> str:
    return sha256(repr(files).encode()).hexdigest()
