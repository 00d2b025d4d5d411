"""Runs of a suite, from the plan to the board: what every command and every call goes through."""

import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from uqbench.api.claims import SuiteVerdicts, budgets_with_runs
from uqbench.api.options import Options
from uqbench.api.plan import Planned
from uqbench.boards.calibration import words_note
from uqbench.boards.claims.judge import Judgement
from uqbench.boards.claims.judge import judge as judge_claims
from uqbench.boards.claims.verdict import Verdict
from uqbench.boards.cost import step_costs
from uqbench.boards.detectable import detectable_note
from uqbench.boards.leaderboard import Board, board
from uqbench.boards.provenance import MadeWith
from uqbench.boards.rescored import board_by, board_with, slug
from uqbench.boards.scores import gather
from uqbench.boards.stored import StoredBoard, board_folder
from uqbench.boards.with_stored import read_reference
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.contract.identity import DeviceKind, Run
from uqbench.pages.board_folders import write_board
from uqbench.pages.check import check, rewrite
from uqbench.registry import local
from uqbench.registry.load_host import load_host
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.results.states import RunState
from uqbench.results.store import BOARDS, Store
from uqbench.runner.complete import Execution, Quiet, Watcher, complete, preview
from uqbench.runner.device import find_device
from uqbench.runner.dispatch.drive import Driver
from uqbench.runner.forecast import Forecast
from uqbench.runner.rerun import code_note, make_room
from uqbench.runner.states import describe, stored_states, to_do
from uqbench.suites.plan import Plan
from uqbench.suites.reading import read_suites
from uqbench.suites.selection import Selection


@dataclass(frozen=True)
class Checked:
    """What a check of a stored board found: whether it is good, and all of it in words."""

    good: bool
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Written:
    """A board, and the folder that it was written to."""

    board: Board
    folder: Path


@dataclass(frozen=True)
class Completed:
    """What became of an experiment's runs.

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


@dataclass(frozen=True)
class Experiment:
    """Some runs, and what can be done with them.

    Attributes:
        options: which runs, where they are stored, and where and how they are executed.
        watcher: shows what is executed; None for nobody.
        say: called with what stops nothing, such as a plugin that cannot be loaded.
    """

    options: Options = field(default_factory=Options)
    watcher: Watcher | None = None
    say: Say = warn

    @property
    def selection(self) -> Selection:
        """The runs that are meant."""
        return self.options.selection

    @cached_property
    def host(self) -> Host:
        """The plugins, with the files that the options name."""
        for path in self.options.plugins:
            local.add_file(Path(path))
        _ = self.selection  # files among the methods join first
        return load_host(self.say)

    @cached_property
    def store(self) -> Store:
        """Of the runs.

        Raises:
            UqbenchError: nothing is kept.
        """
        if self.options.out is None:
            raise UqbenchError("out=None keeps no runs: expected a results folder.")
        return Store(Path(self.options.out))

    def plan(self, device: DeviceKind = "cpu") -> Plan:
        """The runs; a board of stored ones does not depend on the device.

        Raises:
            UqbenchError: a name is unknown, a selection is empty, or a setting is wrong.
        """
        return self.selection.plan(self.host, device, self.say)

    def run(self, *, rerun: bool = False, beside: Path | None = None) -> Completed:
        """Do what is missing, and write the board.

        Args:
            rerun: whether finished runs of other code than is installed are made once more.
            beside: folder of leaderboards; the board is the stored one with these runs in it.

        Raises:
            UqbenchError: the plan, the executor or the stored board does not allow it.
        """
        with self._executing() as execution:
            plan, store = self.plan(execution.device), execution.store
            stored = None
            if beside is not None:
                stored = read_reference(self.selection, plan, self.host, Folder(beside), self.say)
            self._prepare(execution)
            if rerun:
                make_room(plan, store, execution.watcher.say)
            states = complete(plan, execution, step_costs(plan, self._references(beside)))
            open_runs = [run for run, state in states.items() if state is not RunState.FINISHED]
            unfinished = {run: store.read(run.folder).reason or "" for run in open_runs}
            if unfinished and not execution.driver.waits:
                return Completed(plan, unfinished, None, None)
            result = board(plan, store) if stored is None else stored.with_runs(plan, store)
            made = () if stored is None else stored.made
            folder = None if self.options.out is None else self._written(result, made=made).folder
            return Completed(plan, unfinished, result, folder)

    def dry_run(self, beside: Path | None = None) -> Planned:
        """What :meth:`run` would execute; nothing is executed or written.

        Args:
            beside: folder of leaderboards, whose stored one must allow these runs in it.
        """
        execution = self._execution(self.store)
        plan = self.plan(execution.device)
        if beside is not None:
            read_reference(self.selection, plan, self.host, Folder(beside), self.say)
        states = stored_states(plan, self.store)
        execution.watcher.say(*describe(plan, states, self.store))
        roots = self._references(beside)
        expected = Forecast(plan, to_do(states), self.store, step_costs(plan, roots))
        script, code = preview(plan, execution), code_note(states.values())
        note = "\n".join(filter(None, [words_note(plan), code]))
        shown = detectable_note(plan, roots)
        return Planned(plan, execution.device, states, expected, script, note, shown)

    def cancel(self) -> int:
        """Cancel what was submitted; return how many jobs that were."""
        execution = self._execution(self.store)
        orders = [order for order, _ in execution.driver.submitted(self.plan(execution.device))]
        execution.driver.cancel(orders)
        return len(orders)

    def leaderboard(
        self, to: Path | None = None, risk: str | None = None, score: str | None = None
    ) -> Written:
        """Compute the board of the stored runs, and write it.

        Args:
            to: folder of leaderboards; None for that of the results.
            risk: the measure that it is scored by, such as ``cvar(0.1)``; None for the suite's.
            score: a registered score of predictions that is added; where no metric of the suite
                is this score, the board has a folder of its own.

        Raises:
            UqbenchError: the measure or the score is unknown, or does not follow from what is
                stored.
        """
        plan = self.plan()
        if score is not None:
            result = board_with(score, plan, self.host, self.store)
            further = result.plan.suite is not plan.suite
            return self._written(result, to, f"-{slug(score)}" if further else "")
        if risk is None:
            return self._written(board(plan, self.store), to)
        result = board_by(risk, plan, self.host, self.store)
        return self._written(result, to, f"-{slug(risk)}")

    def check(self, to: Path | None = None) -> Checked:
        """Recompute a stored board from its scores, and compare its rows with the runs."""
        lines: list[str] = []
        good = check(*self.stored(self.plan(), to), self.store, lines.append)
        return Checked(good, tuple(lines))

    def rewrite(self, to: Path | None = None) -> tuple[Path, list[Path]]:
        """Write a stored board's tables anew from its scores; return its folder, what changed."""
        stored, board = self.stored(self.plan(), to)
        return stored.folder, rewrite(stored, board, self.host)

    def claims(
        self, boards: Path | None = None, selection: Selection | None = None
    ) -> tuple[Judgement, ...]:
        """Judge the suite's claims by the runs, or by a stored board.

        Where no budget is selected: the longest that has runs.

        Args:
            boards: folder of leaderboards; None for the runs of the results folder.
            selection: whose claims; None for the experiment's.
        """
        selection = selection or self.selection
        if selection.budget is None:
            suite = read_suites(self.host, check=()).suite(selection.suite)
            budgets = budgets_with_runs(suite, boards or self.store.root)
            selection = replace(selection, budget=budgets[0] if budgets else None)
        plan = selection.plan(self.host, "cpu", self.say)
        if boards is None:
            return judge_claims(plan, gather(plan, self.store))
        return self.stored(plan, boards, selection)[1].claims

    def verdicts(self, boards: Path | None = None) -> list[SuiteVerdicts]:
        """How many claims of each suite have which verdict, an error being one of them.

        Args:
            boards: folder of leaderboards; None for the runs of the results folder.

        Returns:
            An entry a suite with claims; that of the selected suite alone, if one is.
        """
        wanted, judgements = self.selection, []
        suites = read_suites(self.host, check=())
        chosen = [suites.suite(wanted.suite)] if wanted.suite else suites.suites.values()
        for suite in (suite for suite in chosen if suite.claims):
            budgets = budgets_with_runs(suite, boards or self.store.root)
            budget = next((name for name in budgets if wanted.budget in (None, name)), None)
            verdicts: Counter[Verdict] = Counter()
            error = ""
            try:
                if budget is not None:
                    selection = replace(wanted, suite=suite.name, budget=budget)
                    verdicts.update(one.verdict for one in self.claims(boards, selection))
            except UqbenchError as refused:
                error = str(refused)
            counts = {verdict.value: verdicts[verdict] for verdict in Verdict if verdicts[verdict]}
            papers, number = sorted({claim.paper for claim in suite.claims}), len(suite.claims)
            judgements.append(SuiteVerdicts(suite.name, number, papers, budget, counts, error))
        return judgements

    @property
    def _watcher(self) -> Watcher:
        return Quiet() if self.watcher is None else self.watcher

    def stored(
        self, plan: Plan, boards: Path | None = None, selection: Selection | None = None
    ) -> tuple[StoredBoard, Board]:
        """The stored board of a plan, and the board that its scores make.

        Args:
            plan: of all methods that are installed.
            boards: folder of leaderboards; None for that of the results.
            selection: that the plan is of; None for the experiment's.

        Raises:
            UqbenchError: there is none, or it is of an earlier protocol, or damaged.
        """
        folder = board_folder(plan, self._boards(boards))
        stored = StoredBoard(folder)
        return stored, stored.board(plan, selection or self.selection, self.host, self.say)

    def _written(
        self,
        board: Board,
        to: Path | None = None,
        suffix: str = "",
        made: Sequence[MadeWith] = (),
    ) -> Written:
        """Write a board; ``made`` is what those of its rows that are stored were made with."""
        folder = board_folder(board.plan, self._boards(to))
        folder = folder.parent.below(folder.name + suffix)
        write_board(board, self.store, folder, self.host, made)
        return Written(board, folder.path)

    def _boards(self, boards: Path | None) -> Folder:
        """A folder of leaderboards; that of the results where none is named."""
        return Folder(self.store.root, (BOARDS,)) if boards is None else Folder(boards)

    def _references(self, beside: Path | None = None) -> list[Folder]:
        """Folders of leaderboards that tell of a budget's runs, the first that has it."""
        named = () if beside is None else (Folder(beside),)
        own = () if self.options.out is None else (self._boards(None),)
        return [*named, *own, Folder(Path("leaderboards"))]

    def _execution(self, store: Store) -> Execution:
        """Where and how runs are executed.

        Raises:
            UqbenchError: a limit cannot be enforced, or there is no such executor or device.
        """
        options, watcher = self.options, self._watcher
        options.where.limits.check()
        driver = Driver(options.where, self.host, store.root)
        gpus = options.where.resources.gpus if driver.elsewhere else None
        device = find_device(options.device, gpus)
        persistent = options.out is not None
        return Execution(self.host, device, store, watcher, options.workers, driver, persistent)

    @contextmanager
    def _executing(self) -> Iterator[Execution]:
        """The same, in a results folder that can be written, or one for the time being."""
        with tempfile.TemporaryDirectory(prefix="uqbench-") as temporary, _interruptible():
            yield self._execution(Store(self.options.folder or Path(temporary)))

    @staticmethod
    def _prepare(execution: Execution) -> None:
        """Make the results folder, once the plan stands: what is refused leaves none behind."""
        note = execution.store.prepare(shared=execution.driver.elsewhere)
        if note:
            execution.watcher.say(f"Runs are locked by leases: {note}.")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM, by which schedulers end a job, interrupt as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)
