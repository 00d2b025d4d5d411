"""``uqbench.run``: do what is missing of a suite, and return the results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from uqbench.api.experiment import Experiment
from uqbench.api.results import Results
from uqbench.api.run_tables import FoundRun
from uqbench.api.selected import Selected, selected
from uqbench.boards.leaderboard import Board
from uqbench.errors import UqbenchError, UqbenchWarning
from uqbench.executor import Resources
from uqbench.results.store import Store
from uqbench.runner.checkpoints import CHECKPOINT_SECONDS
from uqbench.runner.dispatch.drive import Where
from uqbench.runner.display import Terminal
from uqbench.runner.executors.limits import Limits
from uqbench.runner.executors.local import NO_LIMITS
from uqbench.runner.watcher import Quiet, Watcher
from uqbench.wording import count


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
    beside: str | PathLike[str] | None = None,
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
        beside: a folder of leaderboards; the board is the stored one with these runs in it.

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
    experiment = Experiment(
        selected(
            suite, budget, methods=methods, tasks=tasks, seeds=seeds, steps=steps,
            settings=settings, keep_agents=keep_agents,
        ),
        Path(out),
        device,
        workers,
        Where(
            executor, executor_config, resources or Resources(), checkpoint_seconds, limits, True
        ),
        (log,) if isinstance(log, str) else tuple(log),
        _watcher(progress),
    )  # fmt: skip
    done = experiment.run(rerun=fresh, beside=None if beside is None else Path(beside))
    assert done.board is not None
    results = results_of(done.board, experiment.store)
    if done.unfinished:
        warnings.warn(
            f"{len(done.unfinished)} of {count(len(done.plan.runs), 'run')} did not finish; the "
            f"column reason of results.runs says why",
            UqbenchWarning,
            stacklevel=2,
        )
    return results


def until_decided(
    suite: str,
    budget: str | None = None,
    *,
    max_seeds: int | None = None,
    device: str = "auto",
    workers: int | None = None,
    out: str | PathLike[str] = "results",
    progress: bool | Watcher = True,
    **which: Unpack[Selected],
) -> Results:
    """Add seeds to what claims (or ranks) leave open, until they are decided.

    The same as ``uqbench run --until-decided``: the runs of a growing number of seeds, with the
    error of 5 % shared by all interim analyses.

    Args:
        suite: name of the suite.
        budget: name of a budget that ranks; None for the suite's default.
        max_seeds: of a method; None for 40.
        device: ``auto``, ``cpu`` or ``cuda``.
        workers: number of processes; None for one per core, or one on a GPU.
        out: the results folder.
        progress: whether to show progress on stderr, or what to show it by.
        which: ``methods``, ``tasks``, ``steps`` and ``settings``, as of :func:`run`.

    Raises:
        UqbenchError: the budget cannot rank methods, seeds are given, or a run did not finish.
    """
    chosen = selected(suite, budget, **which)
    watcher = _watcher(progress)
    experiment = Experiment(chosen, Path(out), device, workers, watcher=watcher, say=watcher.say)
    done = experiment.until_decided(max_seeds)
    if done is None:
        raise UqbenchError(
            f"a run did not finish, so that nothing is decided: uqbench.status({str(out)!r}) says "
            f"which."
        )
    return results_of(done[0].board, experiment.store)


def _watcher(progress: bool | Watcher) -> Watcher:
    if isinstance(progress, bool):
        return Terminal() if progress else Quiet()
    return progress


def results_of(result: Board, store: Store) -> Results:
    """The results of a plan's runs, and their board."""
    runs = [score.run for score in result.scores if score.method not in result.origins]
    found = [FoundRun.read(store, folder) for folder in runs]
    return Results(store.root, lambda: [result], found, store)
