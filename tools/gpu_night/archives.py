"""Archives of stored runs that fit through a narrow door: so many files, of so many bytes each.

What matters most comes first: *scores*, the finished runs; *weights*, the runs that are trained and
not yet judged; *agents*, the trained form of some that are judged. A run stays in the archive that
it is in, which is rewritten when it grows, so that a kill at any moment loses none.
"""

from __future__ import annotations

import errno
import os
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("scores", "weights", "agents")
"""The most important first; room for one is made by removing archives of a later one."""
BLOCK, END = 512, 10_240
"""Bytes of a header, which whole blocks follow, and of the end of an archive."""

Files = Mapping[str, Path]
"""Files of a run, by their names in the archive."""


@dataclass
class Archive:
    """One file of runs, all of one kind.

    Attributes:
        path: of the file.
        runs: that are to be in it, by place, with the files of each.
        written: places of the runs that are in the file as it is.
    """

    path: Path
    kind: str
    runs: dict[str, Files] = field(default_factory=dict)
    written: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """Bytes that it will have."""
        return END + sum(map(weight, self.runs.values()))

    def write(self) -> None:
        """Write it beside, flush, and put it in place; it stays as it was where that fails.

        Raises:
            OSError: it cannot be written, as on a full disk.
        """
        beside = self.path.with_name(f".{self.path.name}.part")
        try:
            with beside.open("wb") as file:
                with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
                    for files in self.runs.values():
                        for name, path in files.items():
                            tar.add(path, name, recursive=False)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        self.written = frozenset(self.runs)


def weight(files: Files) -> int:
    """Bytes of a run in an archive."""
    sizes = (path.stat().st_size for path in files.values())
    return sum(2 * BLOCK + -(-size // BLOCK) * BLOCK for size in sizes)  # a long name has its own


class Archives:
    """All archives of a folder.

    Args:
        out: the folder.
        files: most archives.
        each: most bytes of one.
        together: most bytes of all.

    Attributes:
        full: what could not be packed, and why; empty where all is.
    """

    def __init__(self, out: Path, files: int, each: int, together: int) -> None:
        self._out, self._files, self._each, self._together = out, files, each, together
        self._made: list[Archive] = []
        self._numbers = dict.fromkeys(KINDS, 0)
        self.full = ""

    def packed(self, kind: str) -> set[str]:
        """Places of the runs that are in files of a kind now."""
        return {run for one in self._made if one.kind == kind for run in one.written}

    def pack(self, wanted: Mapping[str, Mapping[str, Files]]) -> None:
        """Have in the archives what is wanted of each kind, as far as there is room.

        Args:
            wanted: runs by kind and place; what matters most first within a kind.
        """
        out: list[str] = []
        for kind in KINDS:
            runs = wanted.get(kind, {})
            for archive in self._of(kind):
                archive.runs = {
                    place: archive.runs[place] for place in archive.runs if place in runs
                }
            there = {place for archive in self._of(kind) for place in archive.runs}
            for place, files in runs.items():
                if place not in there and not self._put(kind, place, files):
                    out.append(place)
        self.full = f"no room for {len(out)} of what there is" if out else ""
        for archive in sorted(self._made, key=lambda one: KINDS.index(one.kind)):
            if archive not in self._made or archive.written == frozenset(archive.runs):
                continue
            try:
                if archive.runs:
                    self._write(archive)
                else:
                    self._remove(archive)
            except OSError as error:
                self.full = f"{archive.path.name} is as it was before: {error.strerror}"
                return  # what would leave a later archive may be in this one alone

    def _of(self, kind: str) -> list[Archive]:
        return [archive for archive in self._made if archive.kind == kind]

    def _put(self, kind: str, place: str, files: Files) -> bool:
        """Plan a run for an archive; whether there is room."""
        more = weight(files)
        if more + END > self._each:
            return False
        while True:
            total = sum(archive.size for archive in self._made)
            open_ = [one for one in self._of(kind) if one.size + more <= self._each]
            new = 0 if open_ else END
            if total + more + new <= self._together and (open_ or len(self._made) < self._files):
                if not open_:
                    self._numbers[kind] += 1
                    name = f"{kind}-{self._numbers[kind]}.tar"
                    open_ = [Archive(self._out / name, kind)]
                    self._made += open_
                open_[0].runs[place] = files
                return True
            less = self._less_than(kind)
            if not less:
                return False
            self._remove(less[0])

    def _less_than(self, kind: str) -> list[Archive]:
        """Archives of kinds that matter less, the least first."""
        later = KINDS[KINDS.index(kind) + 1 :]
        return [archive for k in reversed(later) for archive in reversed(self._of(k))]

    def _write(self, archive: Archive) -> None:
        """Write an archive; on a full disk those that matter less make room.

        Raises:
            OSError: it cannot be written.
        """
        while True:
            try:
                archive.write()
                return
            except OSError as error:
                less = self._less_than(archive.kind)
                if error.errno != errno.ENOSPC or not less:
                    raise
                self._remove(less[0])

    def _remove(self, archive: Archive) -> None:
        archive.path.unlink(missing_ok=True)
        self._made.remove(archive)
