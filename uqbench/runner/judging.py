"""Which runs ``uqbench run --judge`` judges: those trained anywhere, and those judged otherwise.

A finished run can be judged again if it kept its training (``--keep-agents``).
"""

from dataclasses import replace
from typing import get_args

from uqbench.contract.errors import Say
from uqbench.contract.identity import DeviceKind, Run
from uqbench.contract.wording import count
from uqbench.results.earlier import move_earlier
from uqbench.results.store import TRAINED, RunState, Store, StoredRun
from uqbench.results.tables import read_checked
from uqbench.suites.plan import Plan
from uqbench.uncertainty.scores import rule_versions

WITH_VERSIONS = 4
"""The first schema of records that say of which versions their scores are."""


def on_stored_devices(plan: Plan, store: Store) -> Plan:
    """The plan with the runs that are stored, of whichever kind of device: all are judged here."""

    def stored(run: Run) -> Run:
        known = (run, *(run.on_device(device) for device in get_args(DeviceKind)))
        there = (one for one in known if store.read(one.place).state is not RunState.MISSING)
        return next(there, run)

    cells = (replace(cell, runs=tuple(map(stored, cell.runs))) for cell in plan.cells)
    return replace(plan, cells=tuple(cells))


def reopen(plan: Plan, store: Store, say: Say) -> None:
    """Let finished runs be judged again whose scores are of other versions or metrics than here.

    What was judged is moved to a store of its own. Those that kept no training are told.

    Raises:
        UqbenchError: the training of one is damaged.
        StorageError: one cannot be moved or copied.
    """
    metrics = {metric.name: metric.definition() for metric in plan.suite.metrics}
    versions = rule_versions(plan.suite.metrics)

    def is_older(stored: StoredRun) -> bool:
        record = stored.record
        if record is None or stored.state is not RunState.FINISHED:
            return False
        says = record.schema_version >= WITH_VERSIONS
        return record.metrics != metrics or (says and record.score_versions != versions)

    def can_be(stored: StoredRun) -> bool:
        record = stored.record
        return record is not None and is_older(stored) and record.digests.keys() >= {*TRAINED}

    older = {run: stored for run in plan.runs if is_older(stored := store.find(run))}
    again = [run for run, stored in older.items() if can_be(stored)]
    root, moved = move_earlier(store, again, can_be)
    for run in moved:
        if (lock := store.lock(run)) is not None:
            with lock:
                _reopen(run, Store(root), store)
    if moved:
        say(f"Judged again: {count(len(moved), 'run')}; what was judged before is in {root}.")
    if len(older) > len(again):
        say(
            f"{count(len(older) - len(again), 'finished run')} of other scores than are installed "
            f"kept no training to judge: uqbench run --rerun makes them again."
        )


def _reopen(run: Run, earlier: Store, store: Store) -> None:
    """Make a trained run of a finished one, with the files of its training."""
    record = earlier.read(run.place).record
    assert record is not None
    folder = earlier.at(run.place)
    files = {name: read_checked(folder, name, record.digests[name]) for name in TRAINED}
    store.train(run, record.model_copy(update={"status": "running"}), files)
