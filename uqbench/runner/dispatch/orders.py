"""Orders: made from a plan by a driver, and planned again where they are executed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from uqbench.config import explain
from uqbench.errors import UqbenchError
from uqbench.executor import ORDERS, Order, Resources
from uqbench.identity import Run, digest_of
from uqbench.registry.contents import content_hash
from uqbench.registry.plugins import Host
from uqbench.results.files import read_bytes, write_data
from uqbench.results.records import MOST_BYTES
from uqbench.runner.batching.batches import Batch, BatchGroup
from uqbench.runner.batching.origins import plugins_of
from uqbench.runner.executors.limits import Limits
from uqbench.suites.plan import Plan, make_plan
from uqbench.suites.reading import read_suites

if TYPE_CHECKING:
    from uqbench.suites.suite import Suite


def make_order(
    plan: Plan,
    group: BatchGroup,
    host: Host,
    checkpoint_seconds: float,
    limits: Limits,
    resources: Resources,
    nonce: str = "",
) -> Order:
    """The order of a group of a plan's batches.

    Args:
        plan: what was planned.
        group: some of its batches.
        host: the plugins.
        checkpoint_seconds: between two checkpoints of a batch; 0 for none.
        limits: of each run.
        resources: what the order needs.
        nonce: makes its name differ from that of the same order of another process.
    """
    runs = [run for batch in group for run in batch.runs]
    origins = [plugin for batch in group for plugin in plugins_of(batch, host)]
    table = {
        "suite": plan.suite.name,
        "budget": plan.budget_name,
        "device": group[0].device,
        "steps": plan.steps,
        "settings": {name: dict(own) for name, own in plan.settings.items()},
        "batches": tuple(tuple(run.digest for run in batch.runs) for batch in group),
        "runs": {run.digest: (run.task, run.method, run.seed) for run in runs},
        "content": {
            plugin.package: plugin.local or content_hash(plugin.package)
            for plugin in host.with_requirements(origins)
        },
        "checkpoint_seconds": checkpoint_seconds,
        "limits": asdict(limits),
        "keep_agents": plan.keep_agents,
    }
    name = digest_of([table, nonce])[:16]
    return Order.model_validate(table | {"name": name, "resources": resources})


def write_order(order: Order, root: Path) -> None:
    """Keep an order in the store.

    Raises:
        StorageError: it cannot be written.
    """
    text = order.model_dump_json(indent=1) + "\n"
    write_data(order.path(root), text.encode())


def read_order(path: Path) -> Order:
    """An order from its file.

    Raises:
        UqbenchError: there is none, or it is damaged.
    """
    try:
        data = read_bytes(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise UqbenchError(f"{path} cannot be read: {error}") from error
    return parse_order(data, str(path))


def parse_order(data: bytes, where: str) -> Order:
    """An order from its JSON.

    Raises:
        UqbenchError: it is damaged.
    """
    try:
        return Order.model_validate_json(data)
    except ValidationError as error:
        raise UqbenchError(f"{where} is no order: {explain(error)}") from error


def stored_orders(root: Path) -> Iterator[Order]:
    """The orders in a store that can be read."""
    for path in sorted((root / ORDERS).glob("????????????????.json")):
        with suppress(UqbenchError):  # removed meanwhile, or of another version: not followed
            order = read_order(path)
            if order.path(root) == path:
                yield order


class Planner:
    """Plans orders again; reads each suite once, and plans alike orders together.

    Args:
        host: the plugins of this machine.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._suites: dict[str, Suite] = {}

    def groups(self, orders: Sequence[Order]) -> Iterator[tuple[Order, BatchGroup | UqbenchError]]:
        """The batches that each order means here; an error where it is refused."""
        alike: dict[str, list[Order]] = {}
        for order in orders:
            alike.setdefault(_key(order), []).append(order)
        planned: dict[str, PlannedRuns | UqbenchError] = {}
        for key, those in alike.items():
            try:
                planned[key] = self._plan(those)
            except UqbenchError as error:
                planned[key] = error
        for order in orders:
            yield order, _group(order, planned[_key(order)])

    def group(self, order: Order) -> BatchGroup:
        """The batches that an order means here.

        Raises:
            UqbenchError: the packages or the runs differ from those of the driver.
        """
        [(_, found)] = self.groups([order])
        if isinstance(found, UqbenchError):
            raise found
        return found

    def _plan(self, orders: Sequence[Order]) -> PlannedRuns:
        """A plan of all runs of orders that are alike but for their runs."""
        one = orders[0]
        _check_content(one.content, self._host)
        cells = {cell for order in orders for cell in order.runs.values()}
        tasks, methods, seeds = (set(part) for part in zip(*cells, strict=True))
        plan = make_plan(
            self._suite(one.suite),
            self._host,
            one.budget,
            device=one.device,
            methods=sorted({*methods, *one.settings}),
            tasks=sorted(tasks),
            seeds=sorted(seeds),
            steps=one.steps,
            settings=one.settings,
        )
        return PlannedRuns(plan)

    def _suite(self, name: str) -> Suite:
        if name not in self._suites:
            self._suites[name] = read_suites(self._host, check=(name,)).suite(name)
        return self._suites[name]


class PlannedRuns:
    """The runs of a plan by their digests.

    Args:
        plan: it.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known = {run.digest: (cell, run) for cell in plan.cells for run in cell.runs}

    def group(self, order: Order) -> BatchGroup:
        """The batches of an order.

        Raises:
            UqbenchError: the plan lacks some of its runs.
        """
        lacking = [order.runs[digest] for digests in order.batches for digest in digests
                   if digest not in self._known]  # fmt: skip
        if lacking:
            task, method, seed = lacking[0]
            raise UqbenchError(
                f"refused: {task}/{method}/{seed} has another identity here than where it was "
                f"planned; the suite {order.suite!r}, a config or a version differs."
            )
        batches, plan = [], self._plan
        for digests in order.batches:
            cell = self._known[digests[0]][0]
            budget = plan.budget.on(cell.task)
            whole = Batch(cell, budget, plan.suite.metrics, order.device, order.keep_agents)
            batches.append(whole.of([self._known[digest][1] for digest in digests]))
        return tuple(batches)


def _group(order: Order, planned: PlannedRuns | UqbenchError) -> BatchGroup | UqbenchError:
    if isinstance(planned, UqbenchError):
        return planned
    try:
        return planned.group(order)
    except UqbenchError as error:
        return error


def _key(order: Order) -> str:
    """What orders have in common that are planned together."""
    parts = (order.suite, order.budget, order.device, order.steps, order.settings, order.content)
    return json.dumps(parts, sort_keys=True)


def _check_content(content: Mapping[str, str], host: Host) -> None:
    """Check that the packages here are those that the driver planned with.

    Raises:
        UqbenchError: some are not.
    """
    differing = []
    local = {plugin.package: plugin.local for plugin in host.plugins if plugin.local}
    for package, there in sorted(content.items()):
        try:
            here = local.get(package) or content_hash(package)
        except ModuleNotFoundError:
            differing.append(f"{package} (not installed here)")
            continue
        if here != there:
            differing.append(package)
    if differing:
        raise UqbenchError(
            f"refused: this machine has another content of {', '.join(differing)} than the one "
            f"that planned the runs; install the same versions on both, and run again."
        )


def runs_of(groups: Sequence[BatchGroup]) -> set[Run]:
    """All runs of some groups."""
    return {run for group in groups for batch in group for run in batch.runs}
