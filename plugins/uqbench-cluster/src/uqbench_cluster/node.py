"""A node: executes an order in a process of its own machine and writes its log.

Elsewhere each order has one, started by ``execute_order`` or ``python -m
uqbench_cluster.node PATH``.
"""

import sys
import time
from contextlib import closing, suppress
from pathlib import Path

from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.registry.plugins import Host
from uqbench.results.store import RunState, Store
from uqbench.runner.batches import BatchGroup
from uqbench.runner.executors.limits import Limits
from uqbench.runner.executors.local import STOPPED, run_locally
from uqbench.runner.executors.spawn import listen
from uqbench.runner.process import Stop
from uqbench_cluster.event_log import REMOTE_SECONDS, EventLogWriter
from uqbench_cluster.orders import plan_again, read_order

LOCK_SECONDS = 180.0
"""How long to wait for the locks of an earlier attempt, whose machine may be lost."""
POLL_SECONDS = 0.5
LAST_SECONDS = 60.0
"""For a last checkpoint, when a scheduler asks."""


def execute_order(path: Path, stop_seconds: float | None = None, stop: Stop | None = None) -> bool:
    """Execute the order in a file, or resume it; return whether it is done.

    Args:
        path: of the order, in its store.
        stop_seconds: for a last checkpoint, when it is asked to stop.
        stop: by which it is asked: last checkpoints are written, and this returns.

    Raises:
        UqbenchError: there is none, or it is damaged.
    """
    order, root, stop = read_order(path), path.parent.parent, stop or Stop()
    writer = EventLogWriter(root, order, REMOTE_SECONDS)
    try:
        group = plan_again(order, Host.load())
    except UqbenchError as error:
        writer.refuse(str(error))
    else:
        with suppress(StorageError):  # the next event tries again
            writer.write()
        if writer.resumed:
            _wait_for_locks(group, Store(root), stop)
        how = order.checkpoint_seconds, Limits(**order.limits), lambda: stop.asked, stop_seconds
        with closing(run_locally([group], root, 1, *how)) as executed:
            for event in executed:
                writer.add(event)
    with suppress(StorageError):  # it ends without a word; the driver reads the runs' records
        writer.write()
    return not writer.open


def _wait_for_locks(group: BatchGroup, store: Store, stop: Stop) -> None:
    """Wait until an earlier attempt has let go of the runs, or for ``LOCK_SECONDS``."""
    deadline = time.monotonic() + LOCK_SECONDS
    runs = [run for batch in group for run in batch.runs]
    while any(store.read(run.folder).state is RunState.RUNNING for run in runs):
        if time.monotonic() > deadline or stop.asked:
            return
        time.sleep(POLL_SECONDS)


def main() -> None:
    """``python -m uqbench_cluster.node PATH [SECONDS]``: execute the order in a file.

    On SIGTERM and SIGUSR2 it writes a last checkpoint, for which it has ``SECONDS``, and exits with
    ``STOPPED``.
    """
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else LAST_SECONDS
    stop = Stop()
    listen(lambda *_: setattr(stop, "asked", True))  # before plugins are imported
    try:
        done = execute_order(Path(sys.argv[1]), seconds, stop)
    except UqbenchError as error:
        sys.exit(f"uqbench: {error}")
    sys.exit(0 if done else STOPPED)


if __name__ == "__main__":
    main()
