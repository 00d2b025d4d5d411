"""What can be done with runs that are there: judge, rank, check, verify, submit, merge.

Each call is the command of its name. ``options`` are those of
:class:`~uqbench.api.options.Options`: ``methods``, ``seeds``, ``out`` and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from uqbench.api.claims import SuiteVerdicts
from uqbench.api.experiment import Checked, Experiment, Submission, Verified, Written
from uqbench.api.options import Options, Place
from uqbench.errors import Say, warn
from uqbench.results.merge import Merged
from uqbench.results.merge import merge as merge_stores
from uqbench.results.store import Store


def leaderboard(
    suite: str,
    budget: str | None = None,
    *,
    to: Place | None = None,
    risk: str | None = None,
    score: str | None = None,
    **options: Any,
) -> Written:
    """Compute the board of the runs in ``out``, and write it below ``to``.

    Args:
        suite: name of the suite.
        budget: name of the budget; None for the suite's default.
        to: a folder of leaderboards; None for ``out/leaderboards``.
        risk: another measure to score by, such as ``cvar(0.1)``, from the stored episodes.
        score: a registered score to add, from the stored predictions of estimators.
        options: of the runs.

    Raises:
        UqbenchError: a name is unknown, or a file is damaged.
    """
    return Experiment(Options(suite, budget, **options)).leaderboard(_path(to), risk, score)


def check_leaderboard(
    suite: str, budget: str | None = None, *, to: Place | None = None, **options: Any
) -> Checked:
    """Recompute the tables of the board below ``to``, and compare its rows with runs in ``out``.

    Arguments are those of :func:`leaderboard`. Nothing is written.
    """
    return Experiment(Options(suite, budget, **options)).check(_path(to))


def rewrite_leaderboard(
    suite: str, budget: str | None = None, *, to: Place, **options: Any
) -> list[Path]:
    """Write the tables of the board below ``to`` anew from its scores; return which changed."""
    return Experiment(Options(suite, budget, **options)).rewrite(Path(to))[1]


def verdicts(
    suite: str | None = None,
    budget: str | None = None,
    *,
    out: Place = "results",
    boards: Place | None = None,
) -> list[SuiteVerdicts]:
    """How many claims of each suite's papers hold, by runs in ``out`` or the ``boards``.

    Args:
        suite: only this one; None for all.
        budget: only this one; None for the longest that has runs.
        out: the results folder.
        boards: a folder of leaderboards, whose scores are judged instead.
    """
    return Experiment(Options(suite or "", budget, out=out)).verdicts(_path(boards))


def verify(
    suite: str,
    budget: str | None = None,
    *,
    boards: Place,
    sample: int = 5,
    out: Place | None = None,
    **options: Any,
) -> Verified:
    """Make a sample of a stored board's runs again, and compare the numbers.

    Args:
        suite: name of the suite.
        budget: name of the budget; None for the suite's default.
        boards: the folder of leaderboards.
        sample: how many runs, the same ones each time.
        out: a new results folder for them; None keeps none.
        options: of the board.

    Raises:
        UqbenchError: there is no such board, or its runs cannot be made here.
    """
    chosen = Options(suite, budget, **options, out=out)
    return Experiment(chosen).verify(Path(boards), sample)


def verify_submission(
    path: Place,
    *,
    sample: int | None = None,
    new_seeds: int | None = None,
    out: Place | None = None,
    add: Place | None = None,
) -> Verified:
    """Recompute the tables of a submission, and make runs of each of its methods again.

    Args:
        path: the file of :func:`submit`.
        sample: how many rows of each method, drawn anew; None for as many as the word *verified*
            needs, 0 for none: its rows are *self-reported*.
        new_seeds: how many runs of each task with seeds that no board has; None for five runs.
        out: a new results folder for them; None keeps none.
        add: a folder of leaderboards that the rows join if nothing is wrong.

    Raises:
        UqbenchError: the file is damaged, or of methods that are not installed.
    """
    experiment = Experiment(Options(out=out))
    return experiment.verify_submission(Path(path), sample, _path(add), new_seeds)


def submit(
    suite: str,
    budget: str | None = None,
    *,
    methods: Sequence[str] | str,
    out: Place = "results",
    to: Place | None = None,
) -> Submission:
    """Put scores, curves, manifest, versions and conformance of methods into one file.

    Args:
        suite: name of the suite.
        budget: name of the budget; None for the suite's default.
        methods: whose runs are done.
        out: the results folder.
        to: the file; None for ``SUITE-BUDGET-METHODS.zip``.

    Raises:
        UqbenchError: the file exists, runs are missing or of other code, a method is in no package,
            or a plugin breaks a required rule.
    """
    return Experiment(Options(suite, budget, methods, out=out)).submit(_path(to))


def merge(
    sources: Sequence[Place], into: Place, *, dry_run: bool = False, say: Say = warn
) -> list[Merged]:
    """Copy the finished runs of results folders into one, by their identities.

    Args:
        sources: results folders.
        into: the folder that is written.
        dry_run: write nothing.
        say: is told where runs are locked by leases.

    Returns:
        What became of each run: nothing is overwritten, and what conflicts is refused.

    Raises:
        UqbenchError: a source has no runs, or is the target; the target cannot be written.
    """
    target = Path(into)
    note = "" if dry_run else Store(target).prepare()
    if note:
        say(f"Runs are locked by leases: {note}.")
    return list(merge_stores([Path(source) for source in sources], target, dry_run))


def _path(place: Place | None) -> Path | None:
    return None if place is None else Path(place)
