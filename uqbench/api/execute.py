"""Executing a session's runs: all that are missing, none, or an end to what was submitted."""

import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from uqbench.api.boards import written
from uqbench.api.plan import Planned
from uqbench.api.session import Session
from uqbench.boards.cost import step_costs
from uqbench.boards.detectable import detectable_note
from uqbench.boards.leaderboard import Board, board
from uqbench.boards.with_stored import read_reference
from uqbench.contract.identity import Run
from uqbench.contract.wording import count
from uqbench.registry.packages import lacking
from uqbench.results.folders import Folder
from uqbench.results.records import RunState
from uqbench.results.store import Store
from uqbench.runner import states as stored_runs
from uqbench.runner.complete import Execution, complete, preview
from uqbench.runner.device import find_device
from uqbench.runner.drive import driver_of
from uqbench.runner.forecast import Forecast, rollouts_note
from uqbench.suites.plan import Plan


@dataclass(frozen=True)
class Completed:
    """The outcome of runs, and their board.

    Attributes:
        plan: the runs.
        unfinished: the runs that did not finish, each with its reason.
        board: of the runs; None where an executor goes on with them.
        folder: of the board; None where nothing is kept.
    """

    plan: Plan
    unfinished: Mapping[Run, str]
    board: Board | None
    folder: Path | None


def execute(session: Session, *, rerun: bool = False, beside: Path | None = None) -> Completed:
    """Do what is missing, and write the board.

    Args:
        session: whose runs.
        rerun: whether finished runs of other code than is installed are made once more.
        beside: folder of leaderboards; the board is the stored one with these runs in it.

    Raises:
        UqbenchError: the plan, the executor or the stored board does not allow it.
    """
    if find_spec("torch") is None:  # workers would say so, each by itself
        raise lacking(ModuleNotFoundError(name="torch"))
    with tempfile.TemporaryDirectory(prefix="uqbench-") as temporary, _interruptible():
        execution = _execution(session, Store(session.options.folder or Path(temporary)))
        plan, store = session.plan(execution.device), execution.store
        stored = None
        if beside is not None:
            folder = Folder(beside)
            stored = read_reference(session.selection, plan, session.host, folder, session.say)
        # once the plan stands: what is refused leaves no folder behind
        if note := store.prepare(shared=execution.driver.elsewhere):
            execution.watcher.say(f"Runs are locked by leases: {note}.")
        if rerun:
            stored_runs.make_room(plan, store, execution.watcher.say)
        if plan.stage == "judge":
            plan = stored_runs.on_stored_devices(plan, store)
            stored_runs.reopen(plan, store, execution.watcher.say)
        states = complete(plan, execution, step_costs(plan, session.references(beside)))
        done = {RunState.FINISHED} | ({RunState.TRAINED} if plan.stage == "train" else set())
        open_runs = [run for run, state in states.items() if state not in done]
        if plan.stage == "train" and (trained := [*states.values()].count(RunState.TRAINED)):
            execution.watcher.say(
                f"{count(trained, 'run')} trained, to be judged: the same command with --judge, "
                f"here or where {store.root}/ is copied."
            )
        unfinished = {run: store.read(run.folder).reason or "" for run in open_runs}
        if RunState.FAILED in states.values() and execution.persistent:
            execution.watcher.say(f"Failed: run.json of each has its traceback, in {store.root}/.")
        if unfinished and not execution.driver.waits:
            return Completed(plan, unfinished, None, None)
        result = board(plan, store) if stored is None else stored.with_runs(plan, store)
        made = () if stored is None else stored.made
        kept = session.options.out is not None
        at = written(session, result, made=made).folder if kept else None
        return Completed(plan, unfinished, result, at)


def dry_run(session: Session, beside: Path | None = None) -> Planned:
    """The runs that :func:`execute` would make; nothing is executed or written.

    Args:
        session: whose runs.
        beside: folder of leaderboards, whose stored one must allow these runs in it.
    """
    store, roots = session.store, session.references(beside)
    execution = _execution(session, store)
    plan = session.plan(execution.device)
    if beside is not None:
        read_reference(session.selection, plan, session.host, Folder(beside), session.say)
    if plan.stage == "judge":
        plan = stored_runs.on_stored_devices(plan, store)
    states = stored_runs.stored_states(plan, store)
    execution.watcher.say(*stored_runs.describe(plan, states, store))
    todo = stored_runs.to_do(states, plan.stage)
    expected = Forecast(plan, todo, store, step_costs(plan, roots))
    script, code = preview(plan, todo, execution), stored_runs.code_note(states.values())
    note = "\n".join(filter(None, [rollouts_note(plan), code]))
    shown = detectable_note(plan, roots)
    return Planned(plan, execution.device, states, expected, script, note, shown)


def cancel(session: Session) -> int:
    """Cancel what was submitted; return how many jobs that were."""
    execution = _execution(session, session.store)
    return execution.driver.cancel(session.plan(execution.device))


def _execution(session: Session, store: Store) -> Execution:
    """The place and the way of execution.

    Raises:
        UqbenchError: a limit cannot be enforced, or there is no such executor or device.
    """
    options, host = session.options, session.host
    options.where.limits.check()
    driver = driver_of(options.where, host, store.root)
    gpus = options.where.resources.gpus if driver.elsewhere else None
    device = find_device(options.device, gpus)
    persistent = options.out is not None
    return Execution(host, device, store, session.watcher, options.workers, driver, persistent)


ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM, by which schedulers end a job, and a closed terminal's SIGHUP be a Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = [of for of in ENDING if signal.getsignal(of) is not signal.SIG_IGN]  # nohup's stay
    before = {of: signal.signal(of, signal.default_int_handler) for of in kept}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
