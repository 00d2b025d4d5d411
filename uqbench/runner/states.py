"""What is stored of a plan's runs, what is to do, and how that is said."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from uqbench.contract.errors import UqbenchError, see
from uqbench.contract.identity import Run
from uqbench.contract.wording import count
from uqbench.results.store import TO_DO, RunState, Store, StoredRun
from uqbench.runner.resume import saved_step
from uqbench.suites.plan import Plan


def stored_states(plan: Plan, store: Store) -> dict[Run, StoredRun]:
    """What the store has of each run, with the digests of all files verified.

    Records of finished runs are left out: of a hundred thousand, none is asked for.

    Raises:
        UqbenchError: a run was stored by a newer uqbench.
    """
    states = {run: _without_record(store.find(run)) for run in plan.runs}
    store.save_index()
    newer = [run for run, stored in states.items() if stored.state is RunState.NEWER]
    if newer:
        raise UqbenchError(
            f"{store.root / newer[0].folder}: {states[newer[0]].reason}: update uqbench, or use "
            f"another --out.{see('newer-uqbench')}"
        )
    return states


def _without_record(stored: StoredRun) -> StoredRun:
    return replace(stored, record=None) if stored.state is RunState.FINISHED else stored


def to_do(states: Mapping[Run, StoredRun]) -> set[Run]:
    """The runs that are to be executed."""
    return {run for run, stored in states.items() if stored.state in TO_DO}


def describe(plan: Plan, states: Mapping[Run, StoredRun], store: Store) -> Iterator[str]:
    """Lines that say what will run and why."""
    todo = to_do(states)
    methods = dict.fromkeys(cell.method.name for cell in plan.cells)
    tasks = dict.fromkeys(cell.task.name for cell in plan.cells)
    yield f"{plan.suite.name}, budget {plan.budget_name}: {plan.budget.summary}"
    yield (
        f"{count(len(plan.runs), 'run')} of {_steps(plan)} steps: "
        f"{', '.join(methods)} on {', '.join(tasks)}. Results go to {store.root}/."
    )
    for state in RunState:
        runs = [run for run, stored in states.items() if stored.state is state]
        if not runs or state is RunState.MISSING:
            continue
        action = "again" if runs[0] in todo else "not run again"
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
    """How many of some runs resume from a checkpoint, and at which steps."""
    unfinished = (run for run in runs if states[run].state is not RunState.FINISHED)
    records = (states[run].record for run in unfinished)
    saved = [saved_step(record, store) for record in records if record is not None]
    steps = [step for step in saved if step is not None]
    return f", {len(steps)} from step {_range(steps)}" if steps else ""
