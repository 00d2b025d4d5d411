"""A model of what a disk holds after the power fails, from a trace of file operations.

As in ALICE (Pillai et al. 2014) and CrashMonkey (Mohan et al. 2018), with the weakest promises that
POSIX leaves: the contents of a file are on disk once it was flushed, a name once the folder that it
is in was flushed; of what was not flushed any part may be there, in any order.
"""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

ALL_SUBSETS = 6
"""Operations that were not flushed, up to which every subset of them is tried."""
FOLDER = -1


@dataclass(frozen=True)
class Op:
    """A file operation.

    Attributes:
        kind: ``name`` (a file or folder gets a name), ``rename``, ``unname``, ``data``, ``flush``
            (of a folder), ``flush-data``, or ``mark``.
        path: relative to the root; of a ``rename``, the new one.
        inode: which file; ``FOLDER`` for a folder.
        source: of a ``rename``.
        data: contents.
    """

    kind: str
    path: str
    inode: int = FOLDER
    source: str = ""
    data: bytes = b""

    @property
    def folder(self) -> str:
        """The folder that the name is in."""
        return Path(self.path).parent.as_posix()


@dataclass
class Trace:
    """The operations below a root, in order."""

    root: Path
    ops: list[Op] = field(default_factory=list)
    _inodes: dict[str, int] = field(default_factory=dict)

    def mark(self, text: str) -> None:
        """Note a moment."""
        self.ops.append(Op("mark", text))

    def record(self, patch: pytest.MonkeyPatch) -> None:
        """Record the operations of this process from now on."""
        own = {"open": self._open, "fsync": self._fsync}
        own |= {"replace": self._replace, "rename": self._replace}
        for name, recorded in own.items():
            patch.setattr(os, name, recorded(getattr(os, name)))
        for name, kind in (("unlink", "unname"), ("rmdir", "unname"), ("mkdir", "name")):
            patch.setattr(os, name, self._after(getattr(os, name), kind))

    def _below(self, path: Any, folder: int | None = None) -> str | None:
        """A path below the root; ``folder`` is the descriptor that it is relative to."""
        where = Path() if folder is None else Path(f"/proc/self/fd/{folder}").readlink()
        below = None if isinstance(path, int) else (where / path).absolute()
        if below is None or not below.is_relative_to(self.root):
            return None
        return below.relative_to(self.root).as_posix()

    def _open(self, original: Callable[..., int]) -> Callable[..., int]:
        def open_(path: Any, flags: int, *more: Any, **keywords: Any) -> int:
            name = self._below(path, keywords.get("dir_fd"))
            new = name is not None and flags & os.O_CREAT and not (self.root / name).exists()
            descriptor = original(path, flags, *more, **keywords)
            if new and name is not None:
                self._inodes[name] = len(self.ops)
                self.ops.append(Op("name", name, self._inodes[name]))
            return descriptor

        return open_

    def _fsync(self, original: Callable[..., None]) -> Callable[..., None]:
        def fsync(descriptor: int) -> None:
            name = self._below(Path(f"/proc/self/fd/{descriptor}").readlink())
            if name is not None and name in self._inodes:
                self._data(name)
                self.ops.append(Op("flush-data", name, self._inodes[name]))
            elif name is not None:
                self.ops.append(Op("flush", name))
            original(descriptor)

        return fsync

    def _data(self, name: str) -> None:
        self.ops.append(Op("data", name, self._inodes[name], data=(self.root / name).read_bytes()))

    def _replace(self, original: Callable[..., None]) -> Callable[..., None]:
        def replace(source: Any, target: Any, **keywords: Any) -> None:
            old = self._below(source, keywords.get("src_dir_fd"))
            new = self._below(target, keywords.get("dst_dir_fd"))
            original(source, target, **keywords)
            if old is not None and new is not None:
                self._inodes[new] = self._inodes.pop(old)
                self.ops.append(Op("rename", new, self._inodes[new], source=old))

        return replace

    def _after(self, original: Callable[..., None], kind: str) -> Callable[..., None]:
        def operation(path: Any, *more: Any, **keywords: Any) -> None:
            original(path, *more, **keywords)
            name = self._below(path, keywords.get("dir_fd"))
            if name is not None:
                self.ops.append(Op(kind, name, self._inodes.pop(name, FOLDER)))

        return operation

    def crashes(self, seed: int, most: int) -> Iterator[tuple[int, frozenset[int], str]]:
        """Where the power may fail: after how many operations, with which of those that were not
        flushed on disk, and what is in files that were not flushed.

        Args:
            seed: of the subsets, where there are too many to try all.
            most: subsets after one operation.
        """
        rng = random.Random(seed)
        for k in range(len(self.ops) + 1):
            left = self._pending(k)
            if len(left) <= ALL_SUBSETS:
                sets = [frozenset(s) for n in range(len(left) + 1) for s in combinations(left, n)]
            else:
                sets = [frozenset(), frozenset(left)] + [
                    frozenset(i for i in left if rng.random() < 0.5) for _ in range(64)
                ]
            if len(sets) > most:
                sets = [sets[0], sets[-1], *rng.sample(sets[1:-1], most - 2)]
            for subset in sets:
                yield k, subset, rng.choice(("whole", "half", "empty", "zeros"))

    def _pending(self, k: int) -> list[int]:
        """The naming operations before ``k`` that no flush has made sure of."""
        pending: list[int] = []
        for i, op in enumerate(self.ops[:k]):
            if op.kind in ("name", "rename", "unname"):
                pending.append(i)
            elif op.kind == "flush":
                pending = [j for j in pending if self.ops[j].folder != op.path]
        return pending

    def restore(self, k: int, kept: frozenset[int], unflushed: str, folder: Path) -> None:
        """Write into an empty folder what is on disk after a crash."""
        lost = set(self._pending(k)) - kept
        names: dict[str, int] = {}
        flushed: dict[int, bytes] = {}
        written: dict[int, bytes] = {}
        for i, op in enumerate(self.ops[:k]):
            if op.kind == "data":
                written[op.inode] = op.data
            elif op.kind == "flush-data":
                flushed[op.inode] = written[op.inode]
            elif op.kind in ("name", "rename", "unname") and i not in lost:
                names.pop(op.source, None)
                if op.kind == "unname":
                    names.pop(op.path, None)
                else:
                    names[op.path] = op.inode
        damage = {
            "whole": lambda data: data,
            "half": lambda data: data[: len(data) // 2],
            "empty": lambda data: b"",
            "zeros": lambda data: bytes(len(data)),
        }[unflushed]
        for name, inode in sorted(names.items()):
            path = folder / name
            if not path.parent.is_dir():
                continue  # its folder has no name
            if inode == FOLDER:
                path.mkdir(exist_ok=True)
            else:
                path.write_bytes(flushed.get(inode, damage(written.get(inode, b""))))
