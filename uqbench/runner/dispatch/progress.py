"""The progress of an order: one small file in the store, written by its node, read by any driver.

The file is replaced whole and not flushed to disk: losing it loses messages, never results. What
happened once (a batch began, ended, was split) is kept in order; of the steps only the latest count
is.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from uqbench.errors import StorageError
from uqbench.executor import Order, order_path
from uqbench.results.files import NO_ROOM, create, make_folder, read_bytes
from uqbench.results.records import MOST_BYTES, Count, Seconds
from uqbench.runner import events

WRITE_SECONDS = 0.5
"""Between two writes of the steps; what happened once is written at once."""
REMOTE_SECONDS = 5.0
"""The same where many nodes share a file system."""
SHARE = 0.01
"""Largest share of the time that writing the steps may take."""

Kind = Literal["started", "progress", "finished", "failed", "split", "taken", "set aside", "notice"]
_KINDS: Mapping[type[events.Event], Kind] = {
    events.Started: "started",
    events.Progress: "progress",
    events.Finished: "finished",
    events.Failed: "failed",
    events.Split: "split",
    events.Taken: "taken",
    events.SetAside: "set aside",
    events.Notice: "notice",
}


class Entry(BaseModel):
    """An event of some runs of one batch, by their positions in ``Progress.runs``.

    Attributes:
        lanes: that execute; for a split, runs of each part.
        text: reason, message or path.
        full: the disk is full.
        metrics: by position, the latest of each.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    kind: Kind
    runs: Annotated[tuple[Count, ...], Field(min_length=1)]
    step: Count = 0
    seconds: Seconds = 0.0
    lanes: Count = 0
    text: str = ""
    full: bool = False
    metrics: dict[int, dict[str, float]] = {}


class Progress(BaseModel):
    """The contents of the file.

    Attributes:
        order: its name.
        runs: their folders in the store.
        host: that executes it, or did so last.
        node: kind of machine, in words.
        attempts: how many times it was begun.
        ended: whether nothing of it is left to do.
        refused: why the node did not begin; empty if it did.
        entries: what happened, the oldest first.
        latest: the steps of each batch, by the position of its first run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    version: Literal[1] = 1
    order: str
    runs: tuple[str, ...]
    host: str = ""
    pid: Count = 0
    node: str = ""
    attempts: Count = 0
    ended: bool = False
    refused: str = ""
    entries: tuple[Entry, ...] = ()
    latest: dict[int, Entry] = {}


def progress_path(root: Path, name: str) -> Path:
    """The progress file of the order of that name."""
    return order_path(root, name).with_suffix(".progress")


def read_progress(root: Path, name: str) -> Progress | None:
    """The progress of an order; None if there is no such file, or it is not one.

    It is replaced whole, so one that cannot be read was never written by a node.
    """
    try:
        return parse(read_bytes(progress_path(root, name), MOST_BYTES), name)
    except (OSError, ValueError):
        return None


def parse(data: bytes, name: str) -> Progress | None:
    """The progress in a file's contents, if they are of that order."""
    try:
        progress = Progress.model_validate_json(data)
    except (ValidationError, RecursionError):
        return None
    positions = {i for e in (*progress.entries, *progress.latest.values()) for i in e.runs}
    whole = max(positions, default=0) < len(progress.runs) or not positions
    return progress if whole and progress.order == name else None


class ProgressWriter:
    """Writes the progress of one order, from its node.

    Args:
        order: it.
        root: of the store.
        node: kind of machine, in words.
        keep: resume the progress of an earlier attempt, if there is one, and write as long as the
            order is in the store: who removes it has no use for its progress.
        every: seconds between two writes of the steps.
        clock: returns seconds.
    """

    def __init__(
        self,
        order: Order,
        root: Path,
        node: str = "",
        keep: bool = True,
        every: float = WRITE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        digests = [digest for batch in order.batches for digest in batch]
        folders = tuple(_folder(order, digest) for digest in digests)
        before = read_progress(root, order.name) if keep else None
        if before is None or before.runs != folders:
            before = Progress(order=order.name, runs=folders)
        own = {"host": socket.gethostname(), "pid": os.getpid(), "node": node, "latest": {}}
        own |= {"attempts": before.attempts + 1, "ended": False, "refused": ""}
        self._progress = before.model_copy(update=own)
        self.again = before.attempts > 0
        self._positions = {digest: i for i, digest in enumerate(digests)}
        self._path = progress_path(root, order.name)
        self._clock, self._due, self._every = clock, 0.0, every
        self._order = order_path(root, order.name) if keep else None
        self.unwritten: bytes | None = None
        self.open = set(digests)

    def hear(self, event: events.Event) -> None:
        """Take note of an event, and write it, the steps only now and then."""
        entry = self._entry(event)
        first = entry.runs[0]
        latest = dict(self._progress.latest)
        if entry.kind == "progress":
            latest[first] = entry
            self._progress = self._progress.model_copy(update={"latest": latest})
            if self._clock() >= self._due:
                self._write()
            return
        latest.pop(first, None)
        entries = (*self._progress.entries, entry)
        self._progress = self._progress.model_copy(update={"entries": entries, "latest": latest})
        if entry.kind in ("finished", "failed", "taken"):
            self.open -= {run.digest for run in event.batch.runs}
        if not self.open:
            self._progress = self._progress.model_copy(update={"ended": True})
        self._write()

    def refuse(self, reason: str) -> None:
        """Write that the node does not begin."""
        self.open.clear()
        self._progress = self._progress.model_copy(update={"ended": True, "refused": reason})
        self._write()

    def begin(self) -> None:
        """Write that the node has begun."""
        self._write()

    def retry(self) -> bool:
        """Write what the disk was too full for, if anything; return whether all is written."""
        if self.unwritten is not None:
            self._write()
        return self.unwritten is None

    def _entry(self, event: events.Event) -> Entry:
        positions = tuple(self._positions[run.digest] for run in event.batch.runs)
        update: dict[str, Any] = {}
        match event:
            case events.Started():
                update = {"step": event.step, "seconds": event.seconds, "lanes": event.lanes}
            case events.Progress():
                metrics = {
                    position: dict(event.metrics.get(run.seed, {}))
                    for position, run in zip(positions, event.batch.runs, strict=True)
                }
                update = {"step": event.step, "seconds": event.seconds, "metrics": metrics}
            case events.Finished():
                update = {"seconds": event.seconds}
            case events.Failed():
                update = {"text": event.reason, "full": event.full}
            case events.Split():
                update = {"text": event.reason, "lanes": event.size}
            case events.SetAside():
                update = {"text": event.kept_as}
            case events.Notice():
                update = {"text": event.text}
        if "text" in update:  # the file is UTF-8; names of files need not be
            update["text"] = update["text"].encode("utf-8", "backslashreplace").decode()
        return Entry(kind=_KINDS[type(event)], runs=positions, **update)

    def _write(self) -> None:
        began = self._clock()
        if self._order is not None and not self._order.exists():
            return
        data = self._progress.model_dump_json(exclude_defaults=True).encode()
        try:
            _replace(self._path, data)
            self.unwritten = None
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise StorageError(f"{self._path} cannot be written: {error.strerror}") from error
            self.unwritten = data
        ended = self._clock()
        self._due = ended + max(self._every, (ended - began) / SHARE)


def _replace(path: Path, data: bytes) -> None:
    make_folder(path.parent)
    file, temporary = create(path.parent, path.name)
    try:
        with file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _folder(order: Order, digest: str) -> str:
    task, method, seed = order.runs[digest]
    return f"{order.suite}/{order.budget}/{task}/{method}/{seed}-{digest[:8]}"
