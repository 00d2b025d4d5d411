"""Drivers have batches executed: ``Here`` in processes of this machine, a package's elsewhere."""

import os
import signal
import socket
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from uqbench.contract.config import resolve
from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.executor import ORDERS, Order, Resources
from uqbench.contract.identity import Run
from uqbench.registry.packages import DRIVERS, PACKAGES, brought, missing
from uqbench.registry.plugins import Host
from uqbench.runner.batches import BatchGroup
from uqbench.runner.device import share_out, visible
from uqbench.runner.events import Event
from uqbench.runner.executors.limits import Limits
from uqbench.runner.executors.local import run_locally
from uqbench.runner.step_log import StepLog, StepLogWriter, forget, read_log
from uqbench.suites.plan import Plan


@dataclass(frozen=True)
class Where:
    """The place where the work is done, as the user asked for it.

    Attributes:
        executor: its name.
        config: values of its config, by key.
        resources: that each order needs.
        checkpoint_seconds: between two checkpoints of a batch; 0 for none.
        limits: of each run.
        wait: whether to follow to the end; None for what the executor does.
    """

    executor: str = "local"
    config: Mapping[str, Any] | None = None
    resources: Resources = field(default_factory=Resources)
    checkpoint_seconds: float = 60.0
    limits: Limits = field(default_factory=Limits)
    wait: bool | None = None


Submitted = Sequence[tuple[Order, BatchGroup]]

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
    for ending in (signal.SIGTERM, signal.SIGHUP):  # as a scheduler's does, or a closed terminal's
        if signal.getsignal(ending) is signal.default_int_handler:
            numbers.add(ending)
    before = {number: signal.signal(number, interrupts.handle) for number in numbers}
    try:
        yield interrupts
        if interrupts.came:
            raise KeyboardInterrupt(said)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Driver(Protocol):
    """Has batches of one store executed by one executor, as ``where`` says.

    Attributes:
        where: the executor, and what it is asked for.
        elsewhere: whether the work is done on other machines, and outlives this process.
        waits: whether the command follows what it submitted to its end.
    """

    where: Where
    elsewhere: bool
    waits: bool

    def submitted(self, plan: Plan) -> Submitted:
        """The orders of a plan's runs that an earlier driver submitted, and that have not ended."""

    def leave(self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None) -> str:
        """Submit groups where the command does not wait; return a sentence, empty if it does."""

    def execute(
        self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None, before: Submitted = ()
    ) -> Generator[Event, None, None]:
        """Execute groups, and yield what happens to them and to those submitted ``before``.

        Closing the iterator stops what is executed in this process, and leaves alone what is
        executed elsewhere.
        """

    def preview(self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None) -> str:
        """The text of what would be submitted; empty where processes are started."""

    def cancel(self, plan: Plan) -> int:
        """Cancel what was submitted; return how many jobs that were."""


def driver_of(where: Where, host: Host, root: Path) -> Driver:
    """The driver that executes ``where``: ``Here``, or one of a package, by entry point.

    Raises:
        UqbenchError: there is no such executor, or its package is not installed.
    """
    name = where.executor
    if name not in host.executors and name in PACKAGES[DRIVERS]:
        raise missing(DRIVERS, name)
    if not host.executors[name].elsewhere:
        return Here(where, host, root)
    if (elsewhere := brought(DRIVERS).get("orders")) is None:
        raise missing(DRIVERS, "orders")
    driver: Driver = elsewhere.load()(where, host, root)
    return driver


class Here:
    """Has batches of one store executed in processes of this machine.

    Args:
        where: the executor, and what it is asked for.
        host: the plugins.
        root: of the store.
    """

    elsewhere, waits = False, True

    def __init__(self, where: Where, host: Host, root: Path) -> None:
        self.where, self._root = where, root
        config = host.executors[where.executor].load_config()
        resolve(config, where.config or {}, where=f"--executor {where.executor}")

    def submitted(self, plan: Plan) -> Submitted:
        """No orders; logs of drivers that are gone are removed."""
        _forget_dead_drivers(self._root)
        return ()

    def leave(self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None) -> str:
        """Nothing: processes end with the command."""
        return ""

    def execute(
        self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None, before: Submitted = ()
    ) -> Generator[Event, None, None]:
        """Execute groups, and yield what happens; closing the iterator stops them."""
        with deferred_interrupts() as interrupts:
            where, log = self.where, StepLogWriter(self._root)
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

    def preview(self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None) -> str:
        """Nothing: no order would be submitted."""
        return ""

    def cancel(self, plan: Plan) -> int:
        """Refuse: processes of this machine end with their command.

        Raises:
            UqbenchError: always.
        """
        raise UqbenchError(
            "--cancel ends what was submitted, with the --executor to which it was; what runs on "
            "this machine ends by Ctrl-C, and the same command resumes it."
        )


def _forget_dead_drivers(root: Path) -> None:
    """Remove the logs of what drivers of this machine executed themselves that are gone."""
    for path in (root / ORDERS).glob("????????????????.progress"):
        log = None if path.with_suffix(".json").exists() else read_log(root, path.stem, StepLog)
        if log is not None and log.host == socket.gethostname():
            try:
                os.kill(log.pid, 0)
            except ProcessLookupError:
                forget(root, path.stem)
            except OSError:  # it lives, and is somebody else's
                continue


def runs_in(orders: Submitted) -> set[Run]:
    """All runs of some orders."""
    return {run for _, group in orders for batch in group for run in batch.runs}
