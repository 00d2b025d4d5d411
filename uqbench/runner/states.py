"""States of a plan's stored runs, and words on what is to do.

Finished runs that were made by a different version of the code are reported, or made again. A run's
identity has the versions that authors state, not digests of files: an edit without a new version
changes no identity. Each record has the digests of its packages, which are compared here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from uqbench.contract.errors import Say, UqbenchError, see
from uqbench.contract.identity import Run
from uqbench.contract.wording import count
from uqbench.registry.contents import installed_content
from uqbench.registry.local import PREFIX
from uqbench.results.earlier import move_earlier
from uqbench.results.store import TO_DO, TRAINED, RunState, Store, StoredRun
from uqbench.results.tables import read_checked
from uqbench.runner.resume import saved_step
from uqbench.suites.plan import Plan, Stage
from uqbench.uncertainty.scores import rule_versions

WITH_SCORE_VERSIONS = 4
"""The first schema of records that say of which versions their scores are."""


def stored_states(plan: Plan, store: Store) -> dict[Run, StoredRun]:
    """The stored state of each run, with the digests of all files verified.

    Records of finished runs are left out: of a hundred thousand, none is asked for.

    Raises:
        UqbenchError: a run was stored by a newer uqbench.
    """
    states = {run: without_record(store.find(run, records=False)) for run in plan.runs}
    store.save_index()
    newer = [run for run, stored in states.items() if stored.state is RunState.NEWER]
    if newer:
        raise UqbenchError(
            f"{store.root / newer[0].folder}: {states[newer[0]].reason}: update uqbench, or use "
            f"another --out.{see('newer-uqbench')}"
        )
    return states


def without_record(stored: StoredRun) -> StoredRun:
    """The stored run without its record, if it is finished."""
    return replace(stored, record=None) if stored.state is RunState.FINISHED else stored


def to_do(states: Mapping[Run, StoredRun], stage: Stage | None = None) -> set[Run]:
    """The runs that are to be executed: to be trained alone, to be judged alone, or all."""
    left = {run: stored for run, stored in states.items() if stored.state in TO_DO}
    if stage is None:
        return set(left)
    trained = {run for run, stored in left.items() if stored.record and stored.record.trained}
    return trained if stage == "judge" else left.keys() - trained


def describe(
    plan: Plan, states: Mapping[Run, StoredRun], store: Store, kept: bool = True
) -> Iterator[str]:
    """Lines that say what will run and why, and where results go that are kept."""
    todo = to_do(states, plan.stage)
    methods = dict.fromkeys(cell.method.name for cell in plan.cells)
    tasks = dict.fromkeys(cell.task.name for cell in plan.cells)
    yield f"{plan.suite.name}, budget {plan.budget_name}: {plan.budget.summary}"
    yield (
        f"{count(len(plan.runs), 'run')} of {_steps(plan)} steps: "
        f"{', '.join(methods)} on {', '.join(tasks)}." + f" Results go to {store.root}/." * kept
    )
    for state in RunState:
        runs = [run for run, stored in states.items() if stored.state is state]
        if not runs or state is RunState.MISSING:
            continue
        action = "again" if runs[0] in todo else "not run again"
        if state is RunState.TRAINED:
            action = "judged now" if runs[0] in todo else "to be judged, by --judge"
        yield f"{len(runs)} {state.said}: {action}{_from_steps(runs, states, store)}."
        if state in (RunState.DAMAGED, RunState.FAILED):
            yield from (f"  {run.folder}: {states[run].reason}" for run in runs)


def _steps(plan: Plan) -> str:
    """Steps of a run: a number, or the range over the plan's tasks."""
    return _range([plan.budget.on(cell.task).steps for cell in plan.cells])


def _range(steps: Sequence[int]) -> str:
    least, most = f"{min(steps):,}", f"{max(steps):,}"
    return least if least == most else f"{least} to {most}"


def _from_steps(runs: Sequence[Run], states: Mapping[Run, StoredRun], store: Store) -> str:
    """The words on how many of some runs resume from a checkpoint, and at which steps."""
    unfinished = (run for run in runs if states[run].state is not RunState.FINISHED)
    records = (states[run].record for run in unfinished)
    saved = [saved_step(record, store) for record in records if record is not None]
    steps = [step for step in saved if step is not None]
    return f", {len(steps)} from step {_range(steps)}" if steps else ""


def other_code(stored: StoredRun) -> tuple[str, ...]:
    """The packages whose contents were others when a finished run was made, or that are gone.

    A local plugin is not among them: the digest of its file is part of its identity.
    """
    if stored.state is not RunState.FINISHED or stored.provenance is None:
        return ()
    return _changed(tuple(stored.provenance.content.items()))


@cache
def _changed(content: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The changed packages among a record's contents, which many runs have in common."""
    return tuple(
        package
        for package, then in content
        if not package.startswith(PREFIX) and installed_content(package) != then
    )


def code_note(states: Iterable[StoredRun]) -> str:
    """The sentence on finished runs that were made with other code; empty where none was."""
    changed = [packages for state in states if (packages := other_code(state))]
    if not changed:
        return ""
    names = sorted({name for packages in changed for name in packages})
    return (
        f"Made with different code than is installed: {count(len(changed), 'finished run')} "
        f"({', '.join(names)}); --rerun makes them again, and keeps these."
        f"{see('other-code')}"
    )


def make_room(plan: Plan, store: Store, say: Say) -> list[Run]:
    """Move a plan's finished runs of other code to a store of their own; return them."""
    older = [run for run, stored in stored_states(plan, store).items() if other_code(stored)]
    root, moved = move_earlier(store, older, lambda stored: bool(other_code(stored)))
    if moved:
        say(
            f"Kept in {root}: {count(len(moved), 'finished run')} of other code than is installed; "
            f"made again."
        )
    return moved


def on_stored_devices(plan: Plan, store: Store) -> Plan:
    """The plan with the runs that are stored, of whichever kind of device: all are judged here."""

    def stored(run: Run) -> Run:
        known = run.on_any_device
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
        if stored.state is not RunState.FINISHED or (record := stored.record) is None:
            return False
        says = record.schema_version >= WITH_SCORE_VERSIONS
        return record.metrics != metrics or (says and record.score_versions != versions)

    def can_be(stored: StoredRun) -> bool:
        kept = set() if stored.record is None else stored.record.digests.keys()
        return kept >= {*TRAINED} and is_older(stored)

    older = {run: stored for run in plan.runs if is_older(stored := store.find(run))}
    again = [run for run, stored in older.items() if can_be(stored)]
    root, moved = move_earlier(store, again, can_be)
    for run in moved:
        folder, record = Store(root).at(run.place), older[run].record
        if record is not None and (lock := store.lock(run)) is not None:
            files = {name: read_checked(folder, name, record.digests[name]) for name in TRAINED}
            with lock:
                store.train(run, record.model_copy(update={"status": "running"}), files)
    if moved:
        say(f"Judged again: {count(len(moved), 'run')}; what was judged before is in {root}.")
    if without := len(older) - len(again):
        say(
            f"{count(without, 'finished run')} of other scores than are installed kept no training "
            f"to judge: uqbench run --rerun makes them again."
        )
