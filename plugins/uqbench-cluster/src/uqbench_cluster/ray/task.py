"""The task of an order: a detached actor that executes it, so that it outlives the driver.

Where its node is lost, Ray starts it again elsewhere, and it resumes; it ends with its order.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import ray

from uqbench.runner.process import Stop
from uqbench_cluster.node import LAST_SECONDS, execute_order

NAMESPACE = "uqbench"
SHARED_SECONDS = 10.0
"""For a file to show on another machine: a network file system may keep old lists for a while."""


class Task:
    """Executes an order from when it is started.

    Args:
        path: of the order, in its store.
        name: of this actor.
    """

    def __init__(self, path: str, name: str) -> None:
        self._path, self._name, self._stop = Path(path), name, Stop()
        threading.Thread(target=self._execute).start()

    def stop(self) -> None:
        """Have last checkpoints written, and end."""
        self._stop.asked = True

    def _execute(self) -> None:
        try:
            execute_order(self._path, LAST_SECONDS, self._stop)
        finally:
            ray.kill(ray.get_actor(self._name, NAMESPACE), no_restart=True)


def is_there(path: str) -> bool:
    """Whether a node has a file, or has it soon."""
    deadline = time.monotonic() + SHARED_SECONDS
    while not Path(path).exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
