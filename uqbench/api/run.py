"""``uqbench.run``: do what is missing of a suite, and return the results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from uqbench.amounts import count
from uqbench.api.plan import selection
from uqbench.api.results import Results
from uqbench.api.run_tables import FoundRun
from uqbench.boards.board_files import board_folder
from uqbench.boards.leaderboard import Board, board
from uqbench.errors import UqbenchError, UqbenchWarning
from uqbench.executor import Resources
from uqbench.registry.load_host import load_host
from uqbench.results.store import RunState, Store
from uqbench.runner.checkpoints import CHECKPOINT_SECONDS
from uqbench.runner.complete import Execution, complete
from uqbench.runner.device import find_device, stated_device
from uqbench.runner.dispatch.drive import Driver, Where
from uqbench.runner.display import Terminal
from uqbench.runner.executors.limits import Limits
from uqbench.runner.executors.local import NO_LIMITS
from uqbench.runner.rerun import make_room
from uqbench.runner.watcher import Quiet, Watcher
from uqbench.views.board_folders import write_board


def run(
    suite: str,
    budget: str | None = None,
    *,
    methods: Sequence[str] | str | None = None,
    tasks: Sequence[str] | str | None = None,
    seeds: int | Sequence[int] | None = None,
    steps: int | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    device: str = "auto",
    workers: int | None = None,
    out: str | PathLike[str] = "results",
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    limits: Limits = NO_LIMITS,
    executor: str = "local",
    executor_config: Mapping[str, Any] | None = None,
    resources: Resources | None = None,
    keep_agents: bool = False,
    fresh: bool = False,
    log: Sequence[str] | str = (),
    progress: bool | Watcher = True,
) -> Results:
    """Do what is missing of a suite, write its leaderboard, and return the results.

    The same as ``uqbench run``: finished runs are not run again, an interrupted call resumes where
    it was.

    Args:
        suite: name of the suite.
        budget: name of the budget; None for the suite's default.
        methods: only these; None for those of the budget.
        tasks: only these.
        seeds: a number n for seeds 0 to n - 1, or exactly these.
        steps: of each run, for a trial; None for the budget's.
        settings: config values by method, such as ``{"dqn": {"learning_rate": 1e-3}}``.
        device: ``auto``, ``cpu`` or ``cuda``.
        workers: number of processes; None for one per core, or one on a GPU.
        out: the results folder.
        checkpoint_seconds: between two checkpoints of unfinished runs; 0 for none.
        limits: of each run: time, memory, time without progress.
        executor: where batches run; ``local``, or the name of a plugin's. They are followed to
            their end.
        executor_config: of the executor, such as ``{"address": "auto"}``.
        resources: that a batch asks of a cluster.
        keep_agents: whether the final state of each agent is stored, for :meth:`Results.agent`.
        fresh: whether finished runs that were made with other code than is installed are made
            again; the earlier ones are moved to ``out/.earlier/1`` (2, …), a results folder, too.
        log: loggers of the runs: ``csv``, ``tensorboard``, ``wandb``.
        progress: whether to show progress on stderr, or what to show it by.

    Returns:
        The results of these runs. A run that failed is a row of ``runs`` with its reason, and a
        warning.

    Raises:
        UqbenchError: a name is unknown or a value is wrong; says what was expected.

    Example:
        >>> import uqbench
        >>> results = uqbench.run("windy-cliff", "smoke", seeds=2)  # doctest: +SKIP
        >>> results.board()  # doctest: +SKIP
    """
    if workers is not None and workers < 1:
        raise UqbenchError(f"workers={workers}: expected at least one process.")
    limits.check()
    watcher = progress if not isinstance(progress, bool) else Terminal() if progress else Quiet()
    store = Store(Path(out))
    host = load_host()
    where = Where(
        executor, executor_config, resources or Resources(), checkpoint_seconds, limits, wait=True
    )
    driver = Driver(where, host, store.root)
    gpus = where.resources.gpus
    kind = stated_device(device, gpus) if driver.elsewhere else find_device(device)
    execution = Execution(
        host, kind, store, watcher, workers, driver, (log,) if isinstance(log, str) else tuple(log)
    )
    chosen = selection(suite, budget, methods, tasks, seeds, steps, settings)
    plan = replace(chosen, keep_agents=keep_agents).plan(host, kind)
    note = store.prepare(shared=driver.elsewhere)
    if note:
        watcher.say(f"Runs are locked by leases: {note}.")
    if fresh:
        make_room(plan, store, watcher)
    states = complete(plan, execution)
    result = board(plan, store)
    write_board(result, store, board_folder(plan, store.root / "leaderboards"), host)
    results = results_of(result, store)
    wrong = [name for name, state in states.items() if state is not RunState.FINISHED]
    if wrong:
        warnings.warn(
            f"{len(wrong)} of {count(len(states), 'run')} did not finish; the column reason of "
            f"results.runs says why",
            UqbenchWarning,
            stacklevel=2,
        )
    return results


def results_of(result: Board, store: Store) -> Results:
    """The results of a plan's runs, and their board."""
    runs = [score.run for score in result.scores]
    found = [FoundRun.read(store, folder) for folder in runs]
    return Results(store.root, lambda: [result], found, store)
