"""Orders: made from a plan by a driver, and planned again where they are executed."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from uqbench.contract.config import explain
from uqbench.contract.errors import UqbenchError
from uqbench.contract.executor import ORDERS, Order
from uqbench.contract.identity import Run, digest_of
from uqbench.registry.contents import content_hash, installed_content
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.results.records import MOST_BYTES
from uqbench.runner.batches import Batch, BatchGroup, plugins_of
from uqbench.runner.drive import Where
from uqbench.suites.plan import Cell, Plan, make_plan
from uqbench.suites.reading import read_suites

_OTHERS = 0o022
"""Bits of a file's mode that let others write to it."""


def make_order(plan: Plan, group: BatchGroup, host: Host, where: Where) -> Order:
    """The order of a group of a plan's batches."""
    runs = [run for batch in group for run in batch.runs]
    table: dict[str, Any] = {
        "suite": plan.suite.name,
        "budget": plan.budget_name,
        "device": group[0].device,
        "steps": plan.steps,
        "settings": {name: dict(own) for name, own in plan.settings.items()},
        "batches": tuple(tuple(run.digest for run in batch.runs) for batch in group),
        "runs": {run.digest: (run.task, run.method, run.seed) for run in runs},
        "content": {
            plugin.package: plugin.local or content_hash(plugin.package)
            for batch in group
            for plugin in plugins_of(batch, host)
        },
        "checkpoint_seconds": where.checkpoint_seconds,
        "limits": asdict(where.limits),
        "keep_agents": plan.keep_agents,
        "stage": plan.stage,
    }
    name = digest_of([table, ""])[:16]
    table |= {"resources": where.resources, "place": (where.executor, dict(where.config or {}))}
    return Order.model_validate(table | {"name": name})


def write_order(order: Order, root: Path) -> None:
    """Keep an order in the store.

    Raises:
        StorageError: it cannot be written.
    """

    def write(file: BinaryIO) -> None:
        os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & ~_OTHERS)  # as a key of ``ssh``
        file.write((order.model_dump_json(indent=1) + "\n").encode())

    Folder(root, (ORDERS,)).write(order.path(root).name, write)


def read_order(path: Path) -> Order:
    """An order from its file.

    Raises:
        UqbenchError: there is none, or it is damaged.
    """
    return _read(Folder(path.parent), path)[0]


def _read(folder: Folder, path: Path) -> tuple[Order, bool]:
    """The order in a file of a folder, and whether the file is this user's own."""
    try:
        with folder.open(path.name, MOST_BYTES) as file:
            status = os.fstat(file.fileno())
            own = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS
            return Order.model_validate_json(file.read()), own
    except ValidationError as error:
        raise UqbenchError(f"{path} is no order: {explain(error)}") from error
    except (OSError, ValueError) as error:
        raise UqbenchError(f"{path} cannot be read: {error}") from error


def stored_orders(root: Path) -> Iterator[tuple[Order, bool]]:
    """The orders in a store that can be read, each with whether its file is this user's own."""
    folder = Folder(root, (ORDERS,))
    for name in folder.names_of("json"):
        with suppress(UqbenchError):  # removed meanwhile, or of another version: not followed
            order, own = _read(folder, folder / name)
            if order.path(root).name == name:
                yield order, own


def plan_again(order: Order, host: Host) -> BatchGroup:
    """The batches that an order means here.

    Args:
        order: from elsewhere.
        host: the plugins of this machine.

    Raises:
        UqbenchError: the packages or the runs differ from those of the driver.
    """
    local = {plugin.package: plugin.local for plugin in host.plugins if plugin.local}
    differing = []
    for package, there in sorted(order.content.items()):
        here = local.get(package) or installed_content(package)
        if here != there:
            differing.append(package if here else f"{package} (not installed here)")
    if differing:
        raise UqbenchError(
            f"refused: this machine has another content of {', '.join(differing)} than the one "
            f"that planned the runs; install the same versions on both, and run again."
        )
    tasks, methods, seeds = (set(part) for part in zip(*order.runs.values(), strict=True))
    plan = make_plan(
        read_suites(host, check=(order.suite,)).suite(order.suite),
        host,
        order.budget,
        device=order.device,
        methods=sorted({*methods, *order.settings}),
        tasks=sorted(tasks),
        seeds=sorted(seeds),
        steps=order.steps,
        settings=order.settings,
    )
    return batches_of(order, plan, by_digest(plan))


Cells = Mapping[str, tuple[Cell, Run]]


def by_digest(plan: Plan) -> Cells:
    """The runs of a plan, each with its cell, by their digests."""
    return {run.digest: (cell, run) for cell in plan.cells for run in cell.runs}


def batches_of(order: Order, plan: Plan, cells: Cells) -> BatchGroup:
    """The batches of an order.

    Args:
        order: some of the plan's runs.
        plan: them, as they are planned here.
        cells: the plan's runs.

    Raises:
        UqbenchError: the plan lacks some of its runs.
    """
    lacking = [place for digest, place in order.runs.items() if digest not in cells]
    if lacking:
        task, method, seed = lacking[0]
        raise UqbenchError(
            f"refused: {task}/{method}/{seed} has another identity here than where it was "
            f"planned; the suite {order.suite!r}, a config or a version differs."
        )
    batches, how = [], (plan.suite.metrics, order.device, order.keep_agents, order.stage)
    for digests in order.batches:
        cell, _ = cells[digests[0]]
        whole = Batch(cell, plan.budget.on(cell.task), *how)
        batches.append(whole.of([cells[digest][1] for digest in digests]))
    return tuple(batches)
