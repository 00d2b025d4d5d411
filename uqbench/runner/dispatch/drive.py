"""The driver: executes batches in processes of its own, or orders and follows them."""

import os
import signal
import socket
import threading
import time
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from uqbench.contract.config import resolve
from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.executor import ORDERS, Executor, ExecutorContext, JobState, JobStatus, Order
from uqbench.contract.identity import Run
from uqbench.registry.plugins import Host
from uqbench.runner.batches import BatchGroup
from uqbench.runner.device import share_out, visible
from uqbench.runner.dispatch.event_log import EventLogWriter, forget, read_log
from uqbench.runner.dispatch.follow import follow
from uqbench.runner.dispatch.orders import (
    Where,
    batches_of,
    cells_by_digest,
    make_order,
    stored_orders,
    write_order,
)
from uqbench.runner.events import Event
from uqbench.runner.executors.local import run_locally
from uqbench.suites.plan import Plan

GLANCE_SECONDS = 0.1
"""Between two checks of whether an interrupt came, while nothing else is done."""


class Interrupts:
    """A note that Ctrl-C came, which is raised once, between two looks at what is executed.

    An executor's library may run Python where an exception goes nowhere, such as in callbacks: a
    ``KeyboardInterrupt`` that is raised wherever the signal happens to strike can be lost.

    Args:
        said: to the user, when it is raised.
    """

    def __init__(self, said: str = "") -> None:
        self.came, self.said = False, said

    def sleep(self, seconds: float) -> None:
        """Wait; an interrupt that came before, or comes now, is raised."""
        until = time.monotonic() + seconds
        while not self.came and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, GLANCE_SECONDS))
        if self.came:
            raise KeyboardInterrupt(self.said)

    def handle(self, *_signal: object) -> None:
        """Note an interrupt, or raise it if it is the second."""
        if self.came:
            raise KeyboardInterrupt(self.said)
        self.came = True


@contextmanager
def deferred_interrupts(said: str = "") -> Iterator[Interrupts]:
    """Inside, an interrupt waits for the next sleep, or for the end; a second is raised at once.

    Outside of the main thread, which alone receives signals, there are none.
    """
    interrupts = Interrupts(said)
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    numbers = {signal.SIGINT}
    if signal.getsignal(signal.SIGTERM) is signal.default_int_handler:  # as a scheduler's does
        numbers.add(signal.SIGTERM)
    before = {number: signal.signal(number, interrupts.handle) for number in numbers}
    try:
        yield interrupts
        if interrupts.came:
            raise KeyboardInterrupt(said)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


GO_ON = "the jobs go on; the same command follows them, --cancel ends them"


class Driver:
    """Has batches of one store executed by one executor.

    Args:
        where: the executor, and what it is asked for.
        host: the plugins.
        root: of the store.

    Attributes:
        where: the same.
        spec: of the executor.
        elsewhere: whether the work is done on other machines, and outlives this process.
        waits: whether the command follows its orders to their end.
    """

    def __init__(self, where: Where, host: Host, root: Path) -> None:
        self.where, self._host = where, host
        self.spec = host.executors[where.executor]
        self.elsewhere = self.spec.elsewhere
        self.waits = self.spec.waits if where.wait is None else where.wait
        self._root = root.absolute() if self.elsewhere else root
        self._config = resolve(
            self.spec.load_config(), where.config or {}, where=f"--executor {where.executor}"
        )

    def submitted(self, plan: Plan) -> list[tuple[Order, BatchGroup]]:
        """The orders of a plan's runs that an earlier driver submitted, and that have not ended.

        Those whose log has ended meanwhile are included, so that their end is reported.
        """
        if not self.elsewhere:
            _forget_dead_drivers(self._root)
            return []
        cells = cells_by_digest(plan)
        orders = [
            order for order, _ in stored_orders(self._root) if cells.keys() >= order.runs.keys()
        ]
        status = self.status(orders)
        submitted = []
        for order in orders:
            log = read_log(self._root, order.name)
            if status[order.name].state is not JobState.ENDED or (log is not None and log.ended):
                with suppress(UqbenchError):  # planned by other versions: their runs are others
                    submitted.append((order, batches_of(order, plan, cells)))
        return submitted

    def execute(
        self,
        plan: Plan,
        groups: Sequence[BatchGroup],
        workers: int | None,
        before: Sequence[tuple[Order, BatchGroup]] = (),
    ) -> Generator[Event, None, None]:
        """Execute groups, and yield what happens to them and to those submitted ``before``.

        Closing the iterator stops what is executed in this process, and leaves alone what is
        executed elsewhere.
        """
        with deferred_interrupts(GO_ON if self.elsewhere else "") as interrupts:
            if self.elsewhere:
                orders = zip(self.submit(plan, groups, workers), groups, strict=True)
                everything = [*before, *orders]
                yield from follow(self._executor(workers), everything, self._root, interrupts.sleep)
                return
            where, log = self.where, EventLogWriter(self._root)
            on_gpu = any(batch.device == "cuda" for group in groups for batch in group)
            executed = run_locally(
                groups,
                self._root,
                workers or 1,
                where.checkpoint_seconds,
                where.limits,
                lambda: interrupts.came,
                gpus=share_out(visible(), where.resources.gpus, workers) if on_gpu else (),
            )
            with ExitStack() as stack:
                stack.callback(forget, self._root, log.name)
                stack.enter_context(closing(executed))
                for event in executed:
                    with suppress(StorageError):  # only `uqbench status` reads it
                        log.add(event)
                    yield event

    def submit(self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None) -> list[Order]:
        """Submit groups and return at once."""
        orders = [make_order(plan, group, self._host, self.where) for group in groups]
        for order in orders:
            write_order(order, self._root)
        if orders:
            self._executor(workers).submit(orders)
        return orders

    def preview(self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None) -> str:
        """The text of what would be submitted."""
        orders = [make_order(plan, group, self._host, self.where) for group in groups]
        return self._executor(workers).preview(orders) if orders else ""

    def status(self, orders: Sequence[Order]) -> Mapping[str, JobStatus]:
        """The status of each order's job, by the order's name."""
        return self._executor(None).status([order.name for order in orders]) if orders else {}

    def cancel(self, orders: Collection[Order]) -> None:
        """Stop orders, which may write a last checkpoint, and forget them."""
        names = [order.name for order in orders]
        self._executor(None).cancel(names)
        for name in names:
            forget(self._root, name)

    def _executor(self, workers: int | None) -> Executor:
        context = ExecutorContext(self._root, workers)
        made: Executor = self.spec.load_factory()(context, self._config)
        return made


def _forget_dead_drivers(root: Path) -> None:
    """Remove the logs of what drivers of this machine executed themselves that are gone."""
    for path in (root / ORDERS).glob("????????????????.progress"):
        log = None if path.with_suffix(".json").exists() else read_log(root, path.stem)
        if log is not None and log.host == socket.gethostname():
            try:
                os.kill(log.pid, 0)
            except ProcessLookupError:
                forget(root, path.stem)
            except OSError:  # it lives, and is somebody else's
                continue


def runs_in(orders: Sequence[tuple[Order, BatchGroup]]) -> set[Run]:
    """All runs of some orders."""
    return {run for _, group in orders for batch in group for run in batch.runs}
