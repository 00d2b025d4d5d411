"""A node: executes an order in a process of its own machine and writes its log.

Elsewhere each order has one, started by ``execute_order`` or ``python -m
uqbench.runner.dispatch.node PATH``.
"""

from __future__ import annotations

import signal
import sys
import time
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from uqbench.errors import StorageError, UqbenchError
from uqbench.registry.plugins import Host
from uqbench.results.store import RunState, Store
from uqbench.runner.batching.batches import BatchGroup
from uqbench.runner.dispatch.event_log import REMOTE_SECONDS, EventLogWriter
from uqbench.runner.dispatch.orders import plan_again, read_order
from uqbench.runner.executors.limits import Limits
from uqbench.runner.executors.local import STOPPED, run_locally
from uqbench.runner.full_disk import WaitsForRoom
from uqbench.runner.stop import Stop
from uqbench.runner.stopwatch import Stopwatch

LOCK_SECONDS = 180.0
"""How long to wait for the locks of an earlier attempt, whose machine may be lost."""
POLL_SECONDS = 0.5
LAST_SECONDS = 60.0
"""For a last checkpoint, when a scheduler asks."""


class Node:
    """Executes one order.

    Args:
        path: of the order, in its store.
        stop_seconds: for a last checkpoint, when it is asked to stop.
        stop: by which it is asked: last checkpoints are written, and ``execute`` returns.

    Raises:
        UqbenchError: there is none, or it is damaged.
    """

    def __init__(
        self, path: Path, stop_seconds: float | None = None, stop: Stop | None = None
    ) -> None:
        self._order, self._root = read_order(path), path.parent.parent
        self._host = _host()
        self._stop_seconds, self._stop = stop_seconds, stop or Stop()

    def execute(self) -> bool:
        """Execute the order, or resume it; return whether it is done."""
        writer = EventLogWriter(self._root, self._order, REMOTE_SECONDS)
        write = WaitsForRoom(Stopwatch(), self._stop, lambda text: print(text, file=sys.stderr))
        try:
            group = plan_again(self._order, self._host)
        except UqbenchError as error:
            writer.refuse(str(error))
        else:
            with suppress(StorageError):  # the next event tries again
                writer.write()
            if writer.resumed:
                self._wait_for_locks(group)
            self._run(group, writer)
        with suppress(StorageError):  # it ends without a word; the driver reads the runs' records
            write(writer.write)
        return not writer.open

    def _run(self, group: BatchGroup, writer: EventLogWriter) -> None:
        executed = run_locally(
            [group],
            self._root,
            1,
            self._order.checkpoint_seconds,
            Limits(**self._order.limits),
            lambda: self._stop.asked,
            self._stop_seconds,
        )
        with closing(executed):
            for event in executed:
                writer.add(event)

    def _wait_for_locks(self, group: BatchGroup) -> None:
        """Wait until an earlier attempt has let go of the runs, or for ``LOCK_SECONDS``."""
        deadline, store = time.monotonic() + LOCK_SECONDS, Store(self._root)
        runs = [run for batch in group for run in batch.runs]
        while any(store.read(run.folder).state is RunState.RUNNING for run in runs):
            if time.monotonic() > deadline or self._stop.asked:
                return
            time.sleep(POLL_SECONDS)


@cache
def _host() -> Host:
    return Host.load()


def execute_order(path: Path) -> bool:
    """Execute the order in a file, or resume it; return whether it is done.

    Raises:
        UqbenchError: there is none, or it is damaged.
    """
    return Node(path).execute()


def main() -> None:
    """``python -m uqbench.runner.dispatch.node PATH [SECONDS]``: execute the order in a file.

    On SIGTERM and SIGUSR2 it writes a last checkpoint, for which it has ``SECONDS``, and exits with
    ``STOPPED``.
    """
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else LAST_SECONDS
    stop = Stop()
    for asked in (signal.SIGTERM, signal.SIGUSR2):  # before plugins are imported
        signal.signal(asked, lambda *_: setattr(stop, "asked", True))
    try:
        done = Node(Path(sys.argv[1]), seconds, stop).execute()
    except UqbenchError as error:
        sys.exit(f"uqbench: {error}")
    sys.exit(0 if done else STOPPED)


if __name__ == "__main__":
    main()
