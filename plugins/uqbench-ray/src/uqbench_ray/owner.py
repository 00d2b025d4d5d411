"""The owner of the tasks: a detached actor, so that they outlive the driver.

It needs no CPU. Where its node is lost, Ray starts it again elsewhere, and it submits again what
has not ended; the orders are in the store.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, TaskCancelledError

from uqbench.executor import Order
from uqbench.registry.local import VARIABLE
from uqbench.runner.dispatch.event_log import read_log
from uqbench.runner.dispatch.orders import stored_orders
from uqbench.runner.executors.local import THREADS

PASSED_ON = ("UQBENCH_PLUGINS", VARIABLE)
"""Variables of the driver that its nodes need."""
SUBMITTED = ".ray"
"""Ending of the file that says that an order was given to Ray."""


def environment() -> dict[str, str]:
    """Variables of a task's process, set before it loads anything."""
    return THREADS | {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def execute(path: str) -> bool:
    """The task: execute the order in a file, or resume it."""
    from uqbench.runner.dispatch.node import execute_order

    return execute_order(Path(path))


class Owner:
    """Submits tasks and says which are alive.

    Args:
        root: of the store.
        variables: of the processes of orders that were submitted before it began.
    """

    def __init__(self, root: str, variables: Mapping[str, str]) -> None:
        self._root = Path(root)
        self._tasks: dict[str, Any] = {}
        before = [order.name for order in stored_orders(self._root) if self._is_open(order)]
        self.submit(before, variables)

    def submit(self, names: Collection[str], variables: Mapping[str, str]) -> None:
        """Submit the stored orders of these names that are not submitted yet.

        Args:
            names: of orders.
            variables: of the driver, for their processes: it may have local plugins.
        """
        for order in stored_orders(self._root):
            if order.name in names and order.name not in self._living():
                self._tasks[order.name] = self._task(order, variables)

    def ends(self, names: Collection[str]) -> dict[str, str | None]:
        """For each order how its task ended, in words; None while it is alive."""
        living = self._living()
        return {name: None if name in living else self._end(name) for name in names}

    def cancel(self, names: Collection[str]) -> None:
        """Cancel tasks and wait for them; their workers write a last checkpoint."""
        tasks = [self._tasks[name] for name in names if name in self._living()]
        for task in tasks:
            ray.cancel(task, force=True)
        if tasks:
            ray.wait(tasks, num_returns=len(tasks), timeout=60.0)

    def _task(self, order: Order, variables: Mapping[str, str]) -> Any:
        needs = order.resources
        options: dict[str, Any] = {
            "name": f"uqbench {order.suite} {order.name}",
            "num_cpus": needs.cpus,
            "num_gpus": needs.gpus,
            "max_retries": -1,  # where a node or a process was lost; not after an exception
            "runtime_env": {"env_vars": dict(variables)},
        }
        if needs.memory_gb is not None:
            options["memory"] = int(1e9 * needs.memory_gb)
        return ray.remote(execute).options(**options).remote(str(order.path(self._root)))

    def _living(self) -> set[str]:
        if not self._tasks:
            return set()
        tasks = list(self._tasks.values())
        _, waiting = ray.wait(tasks, num_returns=len(tasks), timeout=0, fetch_local=False)
        left = set(waiting)
        return {name for name, task in self._tasks.items() if task in left}

    def _end(self, name: str) -> str:
        if name not in self._tasks:
            return "Ray does not know its task"
        try:
            ray.get(self._tasks[name], timeout=10.0)
        except TaskCancelledError:
            return "its task was cancelled"
        except RayError as error:
            return f"its task failed: {str(error).strip().splitlines()[-1]}"
        return "its task ended before it was done"

    def _is_open(self, order: Order) -> bool:
        if not order.path(self._root).with_suffix(SUBMITTED).exists():
            return False
        log = read_log(self._root, order.name)
        return log is None or not log.ended
