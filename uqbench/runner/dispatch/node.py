"""A node: executes orders in processes of its own machine and writes their progress.

The local executor is a node in the driver's process; elsewhere each order has one, started by
``execute_order`` or ``python -m uqbench.runner.dispatch.node PATH``.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from uqbench.errors import UqbenchError
from uqbench.executor import Life, Order
from uqbench.registry.plugins import Host
from uqbench.results.store import RunState, Store
from uqbench.runner.batching.batches import BatchGroup
from uqbench.runner.batching.gpus import share_out, visible
from uqbench.runner.batching.node_kind import node_kind
from uqbench.runner.dispatch.orders import Planner, parse_order, read_order, runs_of, write_order
from uqbench.runner.dispatch.progress import REMOTE_SECONDS, WRITE_SECONDS, ProgressWriter
from uqbench.runner.executors.limits import Limits
from uqbench.runner.executors.local import STOPPED, run_locally

ROOM_SECONDS = 600.0
"""How long to wait for room on a full disk, before an order ends without a word."""
LOCK_SECONDS = 180.0
"""How long to wait for the locks of an earlier attempt, whose machine may be lost."""
POLL_SECONDS = 0.5
LAST_SECONDS = 60.0
"""For a last checkpoint, when a scheduler asks."""


class Node:
    """Executes orders, as many at once as there are workers.

    Args:
        root: of the store.
        host: the plugins.
        workers: processes.
        shared: whether the driver is in this process, and reads what the disk has no room for.
        stop_seconds: for a last checkpoint, when it is asked to stop.
    """

    def __init__(
        self,
        root: Path,
        host: Host,
        workers: int = 1,
        shared: bool = False,
        stop_seconds: float | None = None,
    ) -> None:
        self._store, self._planner = Store(root), Planner(host)
        self._workers, self._shared, self._stop_seconds = workers, shared, stop_seconds
        self._writers: dict[str, ProgressWriter] = {}
        self._stop = threading.Event()
        self._waiting: set[str] = set()
        self.error = ""

    def stop(self) -> None:
        """Ask it to stop: last checkpoints are written, and ``execute`` returns."""
        self._stop.set()

    def life(self, name: str, executing: bool) -> Life:
        """The life of an order, while ``execute`` goes on or after it."""
        writer = self._writers.get(name)
        alive = executing and (name in self._waiting or (writer is not None and bool(writer.open)))
        return Life(alive, self.error, None if writer is None else writer.unwritten)

    def execute(self, orders: Sequence[Order]) -> bool:
        """Execute orders, which have the same limits; return whether all of them are done."""
        self._waiting = {order.name for order in orders}
        groups: list[BatchGroup] = []
        by_run: dict[str, ProgressWriter] = {}
        for order, group in self._planner.groups(orders):
            every = WRITE_SECONDS if self._shared else REMOTE_SECONDS
            kept = not self._shared
            writer = ProgressWriter(order, self._store.root, node_kind(), kept, every)
            self._writers[order.name] = writer
            if isinstance(group, UqbenchError):
                writer.refuse(str(group))
                continue
            groups.append(group)
            by_run |= {run.digest: writer for run in runs_of([group])}
            if not self._shared:
                writer.begin()
                if writer.again:
                    self._wait_for_locks(group)
        self._waiting = set()
        if groups:
            self._run(groups, by_run, orders[0])
        deadline = time.monotonic() + ROOM_SECONDS
        writers = list(self._writers.values())
        while not self._shared:
            unwritten = [writer for writer in writers if not writer.retry()]
            if not unwritten:
                break
            if time.monotonic() > deadline or self._stop.wait(POLL_SECONDS):
                break
        return not any(writer.open for writer in writers)

    def _run(
        self, groups: Sequence[BatchGroup], by_run: dict[str, ProgressWriter], order: Order
    ) -> None:
        executed = run_locally(
            groups,
            self._store.root,
            self._workers,
            order.checkpoint_seconds,
            Limits(**order.limits),
            self._stop,
            self._stop_seconds,
            self._gpus(order),
        )
        with closing(executed):
            for event in executed:
                by_run[event.batch.runs[0].digest].hear(event)

    def _gpus(self, order: Order) -> list[str]:
        """The GPU of each worker; none where a scheduler has chosen, or the work needs none."""
        if order.device == "cpu" or not self._shared:
            return []
        return share_out(visible(), order.resources.gpus, self._workers)

    def _wait_for_locks(self, group: BatchGroup) -> None:
        """Wait until an earlier attempt has let go of the runs, or for ``LOCK_SECONDS``."""
        deadline, runs = time.monotonic() + LOCK_SECONDS, runs_of([group])
        while any(self._store.read(run.folder).state is RunState.RUNNING for run in runs):
            if time.monotonic() > deadline or self._stop.wait(POLL_SECONDS):
                return


@cache
def _host() -> Host:
    return Host.load()


def make_node(path: Path, stop_seconds: float | None = None) -> tuple[Node, Order]:
    """The order in a file, and a node of one worker for it.

    Raises:
        UqbenchError: there is none, or it is damaged.
    """
    order = read_order(path)
    return Node(path.parent.parent, _host(), stop_seconds=stop_seconds), order


def execute_order(path: Path) -> bool:
    """Execute the order in a file, or resume it; return whether it is done.

    Raises:
        UqbenchError: there is none, or it is damaged.
    """
    node, order = make_node(path)
    return node.execute([order])


def main() -> None:
    """``python -m uqbench.runner.dispatch.node PATH``: execute the order in a file.

    Where the path is that of a store's folder, the order is read from stdin. On SIGTERM and SIGUSR2
    it writes a last checkpoint and exits with ``STOPPED``.
    """
    path = Path(sys.argv[1])
    try:
        if path.is_dir():
            given = parse_order(sys.stdin.buffer.read(), "stdin")
            write_order(given, path)
            path = given.path(path)
        node, order = make_node(path, stop_seconds=LAST_SECONDS)
    except UqbenchError as error:
        sys.exit(f"uqbench: {error}")
    for asked in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(asked, lambda *_: node.stop())
    sys.exit(0 if node.execute([order]) else STOPPED)


if __name__ == "__main__":
    main()
