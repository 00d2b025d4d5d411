"""The driver: orders what is to be done, and follows it."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uqbench.config import resolve
from uqbench.errors import UqbenchError
from uqbench.executor import ORDERS, Executor, Order, Resources, Site
from uqbench.identity import Run
from uqbench.registry.plugins import Host
from uqbench.runner.batching.batches import BatchGroup
from uqbench.runner.dispatch.follow import follow, forget
from uqbench.runner.dispatch.interrupts import heard_while_waiting
from uqbench.runner.dispatch.orders import (
    PlannedRuns,
    make_order,
    stored_orders,
    write_order,
)
from uqbench.runner.dispatch.progress import read_progress
from uqbench.runner.events import Event
from uqbench.runner.executors.limits import Limits
from uqbench.suites.plan import Plan


@dataclass(frozen=True)
class Where:
    """Where the work is done, as the user asked for it.

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


class Driver:
    """Submits the orders of one store to one executor, and follows them.

    Args:
        where: the executor, and what it is asked for.
        host: the plugins.
        root: of the store.
    """

    def __init__(self, where: Where, host: Host, root: Path) -> None:
        self._where, self._host = where, host
        self.spec = host.executors[where.executor]
        self._root = root.absolute() if self.spec.elsewhere else root
        self._config = resolve(
            self.spec.load_config(), where.config or {}, where=f"--executor {where.executor}"
        )

    @property
    def elsewhere(self) -> bool:
        """Whether the work is done on other machines, and outlives this process."""
        return self.spec.elsewhere

    @property
    def resources(self) -> Resources:
        """What each order needs."""
        return self._where.resources

    @property
    def waits(self) -> bool:
        """Whether the command follows its orders to their end."""
        return self.spec.waits if self._where.wait is None else self._where.wait

    def alive(self, plan: Plan) -> list[tuple[Order, BatchGroup]]:
        """The orders of a plan's runs that an earlier driver submitted and that are alive.

        Those that ended meanwhile are included, so that their end is told; those that are gone
        are removed, and their runs resume.
        """
        if not self.spec.elsewhere:
            _forget_the_dead(self._root)
            return []
        runs = {run.digest for run in plan.runs}
        found = [order for order in stored_orders(self._root) if runs & order.runs.keys()]
        lives = self._executor(None).alive([order.name for order in found]) if found else {}
        alive, planned = [], PlannedRuns(plan)
        for order in found:
            progress = read_progress(self._root, order.name)
            ended = progress is not None and progress.ended
            if not lives[order.name].alive and not ended:
                forget(self._root, order.name)
            elif runs >= order.runs.keys():
                with suppress(UqbenchError):  # planned by other versions: their runs are others
                    alive.append((order, planned.group(order)))
        return alive

    def execute(
        self,
        plan: Plan,
        groups: Sequence[BatchGroup],
        workers: int | None,
        before: Sequence[tuple[Order, BatchGroup]] = (),
    ) -> Generator[Event, None, None]:
        """Submit groups, and yield what happens to them and to those submitted ``before``.

        Closing the iterator stops what is executed in this process, and leaves alone what is
        executed elsewhere.
        """
        executor = self._executor(workers)
        orders = [(self._order(plan, group), group) for group in groups]
        if self.spec.elsewhere:
            for order, _ in orders:
                write_order(order, self._root)
        with heard_while_waiting() as sleep:
            if orders:
                executor.submit([order for order, _ in orders])
            try:
                yield from follow(executor, [*before, *orders], self._root, sleep)
            finally:
                if not self.spec.elsewhere:
                    executor.cancel([order.name for order, _ in orders])
                    for order, _ in orders:
                        forget(self._root, order.name)

    def submit(self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None) -> list[Order]:
        """Submit groups and return at once."""
        orders = [self._order(plan, group) for group in groups]
        for order in orders:
            write_order(order, self._root)
        if orders:
            self._executor(workers).submit(orders)
        return orders

    def preview(self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None) -> str:
        """What would be submitted, to read."""
        orders = [self._order(plan, group) for group in groups]
        return self._executor(workers).preview(orders) if orders else ""

    def cancel(self, orders: Collection[Order]) -> None:
        """Stop orders, which may write a last checkpoint, and forget them."""
        names = [order.name for order in orders]
        self._executor(None).cancel(names)
        for name in names:
            forget(self._root, name)

    def _order(self, plan: Plan, group: BatchGroup) -> Order:
        where = self._where
        nonce = "" if self.spec.elsewhere else secrets.token_hex(8)
        return make_order(
            plan,
            group,
            self._host,
            where.checkpoint_seconds,
            where.limits,
            where.resources,
            nonce,
        )

    def _executor(self, workers: int | None) -> Executor:
        site = Site(self._root, self._host, workers)
        made: Executor = self.spec.load_factory()(site, self._config)
        return made


def _forget_the_dead(root: Path) -> None:
    """Remove the progress of orders without a file whose driver, on this machine, is gone."""
    for path in (root / ORDERS).glob("????????????????.progress"):
        if path.with_suffix(".json").exists():
            continue
        progress = read_progress(root, path.stem)
        if progress is not None and progress.host == socket.gethostname() and _gone(progress.pid):
            forget(root, path.stem)


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's
        return False
    return False


def runs_in(orders: Sequence[tuple[Order, BatchGroup]]) -> set[Run]:
    """All runs of some orders."""
    return {run for _, group in orders for batch in group for run in batch.runs}
