"""What a job does: execute an order, and stop with a last checkpoint when Slurm asks.

submitit's handler of SIGUSR2 runs in the main thread, on top of what it interrupts. So the order
is executed in another thread, which the handler can ask to stop and wait for.
"""

from __future__ import annotations

import threading
from pathlib import Path

from submitit.core.utils import DelayedSubmission

from uqbench.runner.dispatch.node import Node

MARGIN_SECONDS = 10.0
"""Between the end of the last checkpoint and that of the job."""


class Job:
    """The callable that submitit sends; it holds a path and a number.

    Args:
        path: of the order.
        stop_seconds: for a last checkpoint.
    """

    def __init__(self, path: str, stop_seconds: float) -> None:
        self._path, self._stop_seconds = path, stop_seconds
        self._node: Node | None = None
        self._thread: threading.Thread | None = None

    def __call__(self) -> bool:
        """Execute the order, or resume it; return whether it is done."""
        self._node = node = Node(Path(self._path), self._stop_seconds)
        done: list[bool] = []
        self._thread = threading.Thread(target=lambda: done.append(node.execute()))
        self._thread.start()
        while self._thread.is_alive():
            self._thread.join(0.2)  # a join without end would keep signals waiting
        if not done:
            raise RuntimeError(f"{self._path} was not executed; the job's log says why")
        return done[0]

    def checkpoint(self) -> DelayedSubmission:
        """Called at SIGUSR2: stop with a last checkpoint, and say how to go on: the same again."""
        if self._node is not None and self._thread is not None:
            self._node.stop()
            self._thread.join()
        return DelayedSubmission(Job(self._path, self._stop_seconds))


def seconds_for_a_checkpoint(signal_seconds: float) -> float:
    """How long a worker may take for its last checkpoint after the signal."""
    return max(signal_seconds / 2, signal_seconds - MARGIN_SECONDS)
