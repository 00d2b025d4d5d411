"""``uqbench.run``: do what is missing of a suite, and return the results."""

import warnings
from pathlib import Path, PurePosixPath
from typing import Any

from uqbench.api.execute import dry_run, execute
from uqbench.api.options import Options
from uqbench.api.plan import Planned
from uqbench.api.results import Results
from uqbench.api.session import Session
from uqbench.api.values import Place, given
from uqbench.boards.leaderboard import Board
from uqbench.contract.errors import UqbenchWarning
from uqbench.contract.wording import count
from uqbench.registry import local
from uqbench.results.store import Store
from uqbench.runner.display import Terminal
from uqbench.runner.watcher import Watcher


@local.joined()
def run(
    suite: str,
    budget: str | None = None,
    *,
    rerun: bool = False,
    beside: Place | None = None,
    progress: bool | Watcher = True,
    **options: Any,
) -> Results:
    """Do what is missing of a suite, write its leaderboard, and return the results.

    The same as ``uqbench run``: finished runs are not run again, an interrupted call resumes where
    it was. What an executor was given is followed to its end.

    Args:
        suite: name of the suite.
        budget: name of the budget; None for the suite's default.
        rerun: whether finished runs that were made with other code than is installed are made once
            more; the earlier ones are moved to ``out/.earlier/1`` (2, …), a results folder, too.
        beside: a folder of leaderboards; the board is the stored one with these runs in it.
        progress: whether to show progress on stderr, or what to show it by.
        options: of :class:`~uqbench.api.options.Options`: ``methods``, ``seeds``, ``out`` and so
            on.

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
    watcher = (Terminal() if progress else Watcher()) if isinstance(progress, bool) else progress
    session = Session(Options.of(suite, budget, **{"wait": True} | options), watcher)
    folder = given("beside", beside, Place | None)
    again = given("rerun", rerun, bool)
    done = execute(session, rerun=again, beside=None if folder is None else Path(folder))
    assert done.board is not None
    results = results_of(done.board, session.store)
    if done.unfinished:
        warnings.warn(
            f"{len(done.unfinished)} of {count(len(done.plan.runs), 'run')} did not finish; the "
            f"column reason of results.runs says why",
            UqbenchWarning,
            stacklevel=2,
        )
    return results


@local.joined()
def plan(suite: str, budget: str | None = None, **options: Any) -> Planned:
    """The runs that :func:`uqbench.run` would execute; nothing is executed or written.

    Args:
        suite: name of the suite.
        budget: name of the budget; None for the suite's default.
        options: of :class:`~uqbench.api.options.Options`.

    Returns:
        The plan: its methods, tasks, runs and the time that they take.

    Raises:
        UqbenchError: a name is unknown or a value is wrong; says what was expected.

    Example:
        >>> import uqbench
        >>> uqbench.plan("windy-cliff", "smoke").methods  # doctest: +SKIP
    """
    return dry_run(Session(Options.of(suite, budget, **options)))


def results_of(result: Board, store: Store) -> Results:
    """The results of a plan's runs, and their board."""
    runs = [score.run for score in result.scores if score.method not in result.origins]
    stored = [(store, PurePosixPath(run), store.read(run)) for run in runs]
    return Results(store.root, lambda: [result], stored)
