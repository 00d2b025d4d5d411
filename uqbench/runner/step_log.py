"""A small file in the store, written while runs execute: the step of each run.

Only ``uqbench status`` reads it. What is executed elsewhere has logs that say more
(``uqbench_cluster.event_log``), of which the same is read.

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
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from uqbench.contract.errors import StorageError
from uqbench.contract.executor import ORDERS, order_path
from uqbench.results.folders import Folder
from uqbench.results.records import MOST_BYTES, Count, Seconds
from uqbench.runner.events import Event, Progress, folders
from uqbench.runner.forecast import seconds_left

_NAME = re.compile(r"[0-9a-f]{16}\.progress")
WRITE_SECONDS = 0.5
"""Between two writes of the steps."""
SHARE = 0.01
"""Largest share of the time that writing the steps may take."""


class Latest(BaseModel):
    """The progress of a run: its step, and the seconds until it is done, if they are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: Count
    seconds_left: Seconds | None = None


class StepLog(BaseModel):
    """The contents of the file; a log of a package's driver has more.

    Attributes:
        order: its name; or one that means this file alone.
        host: that executes it, or did so last.
        steps: of each run that is executed, by its folder.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    version: Literal[2]
    order: str
    host: str = ""
    pid: Count = 0
    steps: dict[str, Latest] = {}


L = TypeVar("L", bound=StepLog)


def log_path(root: Path, name: str) -> Path:
    """The log of the order of that name."""
    return order_path(root, name).with_suffix(".progress")


def read_log(root: Path, name: str, kind: type[L]) -> L | None:
    """The log of an order; None if there is no such file, or it is not one.

    It is replaced whole, so one that cannot be read was never written by a node.
    """
    try:
        data = Folder(root, (ORDERS,)).read(log_path(root, name).name, MOST_BYTES)
        log = kind.model_validate_json(data)
    except (OSError, ValueError, RecursionError):
        return None
    return log if log.order == name else None


def latest_steps(root: Path) -> dict[str, Latest]:
    """The latest step of each run that is executed or was, by its folder."""
    folder = Folder(root, (ORDERS,))
    names = [name for name in folder.names_of("progress") if _NAME.fullmatch(name)]
    known = zip(folder.signatures(*names), names, strict=True)
    times = sorted((signature[1], name) for signature, name in known if signature is not None)
    logs = (read_log(root, name.partition(".")[0], StepLog) for _, name in times)  # newest last
    return {folder: latest for log in logs if log for folder, latest in log.steps.items()}


def forget(root: Path, name: str) -> None:
    """Remove the files of an order that has ended."""
    folder = order_path(root, name).parent
    for path in folder.glob(f"{name}.*"):  # with what the executor keeps
        with suppress(OSError):  # another driver was first, or the next one removes it
            path.unlink()
    with suppress(OSError):  # there are others
        folder.rmdir()


class StepLogWriter:
    """Writes a log.

    Args:
        root: of the store.
        every: seconds between two writes of the steps.
        clock: returns seconds.
        log: to go on with; None for a new one.
    """

    def __init__(
        self,
        root: Path,
        every: float = WRITE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        log: StepLog | None = None,
    ) -> None:
        log = log or StepLog(version=2, order=secrets.token_hex(8))
        own = {"host": socket.gethostname(), "pid": os.getpid(), "steps": {}}
        self.name, self._log = log.order, log.model_copy(update=own)
        self._path, self._folder = log_path(root, self.name), Folder(root, (ORDERS,))
        self._clock, self._due, self._every = clock, 0.0, every

    def add(self, event: Event) -> None:
        """Take note of an event, and write it, the steps only now and then.

        Raises:
            StorageError: the log cannot be written, and not for want of room, which may come.
        """
        update, due = self._noted(event)
        self._log = self._log.model_copy(update=update)
        try:
            if due:
                self.write()
        except StorageError as error:
            if not error.full:
                raise

    def _noted(self, event: Event) -> tuple[dict[str, Any], bool]:
        """The fields that an event changes, and whether they are to be written now."""
        runs, steps = folders(event.batch), dict(self._log.steps)
        for run in runs:
            steps.pop(run, None)
        if not isinstance(event, Progress):
            return {"steps": steps}, False
        steps |= dict.fromkeys(runs, Latest(step=event.step, seconds_left=seconds_left(event)))
        return {"steps": steps}, self._clock() >= self._due

    def write(self) -> None:
        """Write the log.

        Raises:
            StorageError: it cannot be written, as on a full disk.
        """
        began = self._clock()
        data = self._log.model_dump_json(exclude_defaults=True).encode()
        self._folder.write(self._path.name, data, flush=False)
        ended = self._clock()
        self._due = ended + max(self._every, (ended - began) / SHARE)
