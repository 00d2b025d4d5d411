"""The driver of orders: writes them, gives them to an executor, and follows them."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from uqbench.contract.config import resolve
from uqbench.contract.errors import UqbenchError
from uqbench.contract.executor import Executor, ExecutorContext, JobState, JobStatus, Order
from uqbench.contract.wording import count
from uqbench.registry.plugins import Host
from uqbench.runner.batches import BatchGroup
from uqbench.runner.drive import Submitted, Where, deferred_interrupts
from uqbench.runner.events import Event
from uqbench.runner.step_log import forget, read_log
from uqbench.suites.plan import Plan
from uqbench_cluster.event_log import EventLog, follow
from uqbench_cluster.orders import batches_of, by_digest, make_order, stored_orders, write_order

GO_ON = "the jobs go on; the same command follows them, --cancel ends them"


class ClusterDriver:
    """Has batches of one store executed elsewhere, by one executor.

    Args:
        where: the executor, and what it is asked for.
        host: the plugins.
        root: of the store.

    Attributes:
        where: the same.
        spec: of the executor.
        elsewhere: True: the work outlives this process.
        waits: whether the command follows its orders to their end.
    """

    elsewhere = True

    def __init__(self, where: Where, host: Host, root: Path) -> None:
        self.where, self._host = where, host
        self.spec = host.executors[where.executor]
        self.waits = self.spec.waits if where.wait is None else where.wait
        self._root = root.absolute()
        config = self.spec.load_config()
        self._config = resolve(config, where.config or {}, where=f"--executor {where.executor}")

    def submitted(self, plan: Plan) -> Submitted:
        """The orders of a plan's runs that an earlier driver submitted, and that have not ended.

        Those whose log has ended meanwhile are included, so that their end is reported.
        """
        cells = by_digest(plan)
        orders = [of for of, _ in stored_orders(self._root) if cells.keys() >= of.runs.keys()]
        status = self.status(orders)
        submitted = []
        for order in orders:
            log = read_log(self._root, order.name, EventLog)
            if status[order.name].state is not JobState.ENDED or (log is not None and log.ended):
                with suppress(UqbenchError):  # planned by other versions: their runs are others
                    submitted.append((order, batches_of(order, plan, cells)))
        return submitted

    def execute(
        self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None, before: Submitted = ()
    ) -> Generator[Event, None, None]:
        """Submit groups, and yield what happens to them and to those submitted ``before``.

        Closing the iterator leaves alone what is executed.
        """
        with deferred_interrupts(GO_ON) as interrupts:
            orders = zip(self.submit(plan, groups, workers), groups, strict=True)
            everything = [*before, *orders]
            yield from follow(self._executor(workers), everything, self._root, interrupts.sleep)

    def leave(self, plan: Plan, groups: Sequence[BatchGroup], workers: int | None) -> str:
        """Submit groups where the command does not wait; return a sentence, empty if it does."""
        if self.waits:
            return ""
        orders = self.submit(plan, groups, workers)
        return (
            f"Submitted {count(len(orders), 'job')} to {self.spec.name}; the same "
            f"command with --wait follows them, uqbench status shows them."
        )

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

    def cancel(self, plan: Plan) -> int:
        """Stop a plan's orders, which may write a last checkpoint, and forget them: how many."""
        names = [order.name for order, _ in self.submitted(plan)]
        self._executor(None).cancel(names)
        for name in names:
            forget(self._root, name)
        return len(names)

    def _executor(self, workers: int | None) -> Executor:
        context = ExecutorContext(self._root, workers)
        made: Executor = self.spec.load_factory()(context, self._config)
        return made
