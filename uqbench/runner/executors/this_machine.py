"""The executor ``local``: a node in a thread of the driver's process."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from uqbench.executor import Life, Order, Site
from uqbench.runner.dispatch.node import Node


@dataclass(frozen=True)
class ThisMachineConfig:
    """Nothing: ``--workers`` says how many processes."""


class ThisMachine:
    """Processes of this machine.

    Args:
        site: the store, the plugins, and how many processes.
        config: empty.
    """

    def __init__(self, site: Site, config: ThisMachineConfig) -> None:
        self._node = Node(site.root, site.host, site.workers or 1, shared=True)
        self._thread: threading.Thread | None = None

    def submit(self, orders: Sequence[Order]) -> None:
        """Start a thread that executes the orders; called once."""
        self._thread = threading.Thread(target=self._work, args=(list(orders),), name="node")
        self._thread.start()

    def alive(self, names: Collection[str]) -> Mapping[str, Life]:
        """The life of each order."""
        executing = self._thread is not None and self._thread.is_alive()
        return {name: self._node.life(name, executing) for name in names}

    def preview(self, orders: Sequence[Order]) -> str:
        """Nothing: processes are started."""
        return ""

    def cancel(self, names: Collection[str]) -> None:
        """Stop all orders, whichever are named: their processes end with the driver."""
        self._node.stop()
        if self._thread is not None:
            self._thread.join()

    def _work(self, orders: Sequence[Order]) -> None:
        try:
            self._node.execute(orders)
        except Exception as error:  # told by the driver, for every order that has not ended
            self._node.error = f"{type(error).__name__}: {error}"
