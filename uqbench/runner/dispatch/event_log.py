"""A small file in the store, written while runs execute: the step of each run, and what happened.

Of what is executed in processes of the driver, only ``uqbench status`` reads it, and only the
latest steps are written. A node writes its events, too, which any driver follows: what happened
once (a batch began, ended, was split) in order, of the steps only the latest count.

The file is replaced whole and not flushed to disk: losing it loses messages, never results.
"""

import os
import re
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from uqbench.contract.errors import StorageError
from uqbench.contract.executor import ORDERS, Order, order_path
from uqbench.results.folders import Folder
from uqbench.results.records import MOST_BYTES, Count, Seconds
from uqbench.runner.events import END, EVENT, Event, Progress, Runs, folders
from uqbench.runner.forecast import seconds_left

_NAME = re.compile(r"[0-9a-f]{16}\.progress")
WRITE_SECONDS = 0.5
"""Between two writes of the steps; what happened once is written at once."""
REMOTE_SECONDS = 5.0
"""The same where many nodes share a file system."""
SHARE = 0.01
"""Largest share of the time that writing the steps may take."""


class Latest(BaseModel):
    """The progress of a run: its step, and the seconds until it is done, if they are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: Count
    seconds_left: Seconds | None = None


class EventLog(BaseModel):
    """The contents of the file.

    Attributes:
        order: its name; or one that means this file alone.
        host: that executes it, or did so last.
        attempts: how many times it was begun.
        ended: whether nothing of it is left to do.
        refused: why the node did not begin; empty if it did.
        steps: of each run that is executed, by its folder.
        events: what happened once, the oldest first.
        progress: the latest of each batch, by the folder of its first run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    version: Literal[2]
    order: str
    host: str = ""
    pid: Count = 0
    attempts: Count = 0
    ended: bool = False
    refused: str = ""
    steps: dict[str, Latest] = {}
    events: tuple[dict[str, Any], ...] = ()
    progress: dict[str, dict[str, Any]] = {}


def decode(table: dict[str, Any], runs: Runs) -> Event | None:
    """The event of a table, if it is one of these runs."""
    try:
        event: Event = EVENT.validate_python(table, context=runs)
    except (ValidationError, RecursionError):
        return None
    return event


def log_path(root: Path, name: str) -> Path:
    """The log of the order of that name."""
    return order_path(root, name).with_suffix(".progress")


def read_log(root: Path, name: str) -> EventLog | None:
    """The log of an order; None if there is no such file, or it is not one.

    It is replaced whole, so one that cannot be read was never written by a node.
    """
    try:
        data = Folder(root, (ORDERS,)).read(log_path(root, name).name, MOST_BYTES)
        log = EventLog.model_validate_json(data)
    except (OSError, ValueError, RecursionError):
        return None
    return log if log.order == name else None


def latest_steps(root: Path) -> dict[str, Latest]:
    """The latest step of each run that is executed or was, by its folder."""
    folder = Folder(root, (ORDERS,))
    names = [name for name in folder.names_of("progress") if _NAME.fullmatch(name)]
    known = zip(folder.signatures(*names), names, strict=True)
    times = sorted((signature[1], name) for signature, name in known if signature is not None)
    logs = (read_log(root, name.partition(".")[0]) for _, name in times)  # the newest last
    return {folder: latest for log in logs if log for folder, latest in log.steps.items()}


def forget(root: Path, name: str) -> None:
    """Remove the files of an order that has ended."""
    folder = order_path(root, name).parent
    for path in folder.glob(f"{name}.*"):  # with what the executor keeps
        with suppress(OSError):  # another driver was first, or the next one removes it
            path.unlink()
    with suppress(OSError):  # there are others
        folder.rmdir()


class EventLogWriter:
    """Writes a log.

    Args:
        root: of the store.
        order: whose events are written, after those of an earlier attempt, as long as it is in the
            store: who removes it has no use for its log. None: only the steps are, for
            ``uqbench status``.
        every: seconds between two writes of the steps.
        clock: returns seconds.
    """

    def __init__(
        self,
        root: Path,
        order: Order | None = None,
        every: float = WRITE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = order.name if order else secrets.token_hex(8)
        before = (read_log(root, order.name) if order else None) or EventLog(
            version=2, order=self.name
        )
        own = {"host": socket.gethostname(), "pid": os.getpid(), "attempts": before.attempts + 1}
        own |= {"ended": False, "refused": "", "steps": {}, "progress": {}}
        self._log = before.model_copy(update=own)
        self.resumed = before.attempts > 0
        self.open = set(order.runs) if order else set()
        self._path, self._folder = log_path(root, self.name), Folder(root, (ORDERS,))
        self._order = order.path(root) if order else None
        self._clock, self._due, self._every = clock, 0.0, every

    def add(self, event: Event) -> None:
        """Take note of an event, and write it, the steps only now and then.

        Raises:
            StorageError: the log cannot be written, and not for want of room, which may come.
        """
        steps, progress = dict(self._log.steps), dict(self._log.progress)
        runs = folders(event.batch)
        for run in runs:
            steps.pop(run, None)
        update: dict[str, Any] = {"steps": steps, "progress": progress}
        table = {} if self._order is None else EVENT.dump_python(event, mode="json")
        if isinstance(event, Progress):
            steps |= dict.fromkeys(runs, Latest(step=event.step, seconds_left=seconds_left(event)))
            progress |= {runs[0]: table} if table else {}
            due = self._clock() >= self._due
        else:
            progress.pop(runs[0], None)
            update["events"] = (*self._log.events, table) if table else ()
            due = bool(table)
        if isinstance(event, END):
            self.open -= {run.digest for run in event.batch.runs}
            update["ended"] = not self.open
        self._log = self._log.model_copy(update=update)
        try:
            if due:
                self.write()
        except StorageError as error:
            if not error.full:
                raise

    def refuse(self, reason: str) -> None:
        """Note that the node does not begin."""
        self.open.clear()
        self._log = self._log.model_copy(update={"ended": True, "refused": reason})

    def write(self) -> None:
        """Write the log.

        Raises:
            StorageError: it cannot be written, as on a full disk.
        """
        if self._order is not None and not self._order.exists():
            return
        began = self._clock()
        data = self._log.model_dump_json(exclude_defaults=True).encode()
        self._folder.write(self._path.name, data, flush=False)
        ended = self._clock()
        self._due = ended + max(self._every, (ended - began) / SHARE)
