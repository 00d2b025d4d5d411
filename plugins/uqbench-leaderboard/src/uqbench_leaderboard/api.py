"""Boards of runs that are there: written, checked, written anew."""

from dataclasses import dataclass
from pathlib import Path

from uqbench.api.boards import Written, written
from uqbench.api.options import Options
from uqbench.api.session import Session
from uqbench.boards.leaderboard import board
from uqbench.boards.manifest import MANIFEST
from uqbench.boards.protocol import older_scores, versions_here
from uqbench.boards.stored import StoredBoard, board_folder, boards_below
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.results.folders import Folder
from uqbench.suites.reading import read_suites
from uqbench.suites.selection import Selection
from uqbench_leaderboard.check import check, mark_earlier, says_earlier, with_later
from uqbench_leaderboard.check import rewrite as rewrite_tables
from uqbench_leaderboard.joined import joined
from uqbench_leaderboard.rescored import board_by, board_with, slug


@dataclass(frozen=True)
class Checked:
    """The result of a check of a stored board: whether it is good, and all of it in words."""

    good: bool
    lines: tuple[str, ...]


def leaderboard(
    options: Options,
    to: Path | None = None,
    risk: str | None = None,
    score: str | None = None,
    say: Say = warn,
) -> Written:
    """Compute the board of the stored runs, and write it.

    Args:
        options: which runs.
        to: folder of leaderboards; None for that of the results.
        risk: the measure that it is scored by, such as ``cvar(0.1)``; None for the suite's.
        score: a registered score of predictions that is added; where no metric of the suite is this
            score, the board has a folder of its own.
        say: called with what stops nothing.

    Returns:
        The board, and the folder that it is in.

    Raises:
        UqbenchError: the measure or the score is unknown, or does not follow from what is stored;
            or nothing has run.

    Example:
        >>> import uqbench
        >>> uqbench.leaderboard(uqbench.Options.of("windy-cliff", "smoke"))  # doctest: +SKIP
    """
    session = Session(options, say=say)
    plan, host, store = session.plan(), session.host, session.store
    if score is not None:
        result = board_with(score, plan, host, store)
        further = result.plan.suite is not plan.suite
        return written(session, result, to, f"-{slug(score)}" if further else "")
    if risk is None:
        result = board(plan, store)
        if not any(cell.scored for cell in result.scores.cells):
            raise UqbenchError(
                f"{store.root} has no finished run of {result.title}, and so no board; make some: "
                f"uqbench run --suite {plan.suite.name} --budget {plan.budget_name}"
            )
        return written(session, result, to)
    return written(session, board_by(risk, plan, host, store), to, f"-{slug(risk)}")


def check_leaderboard(options: Options, to: Path | None = None, say: Say = warn) -> Checked:
    """Recompute a stored board from its scores, and compare its rows with the runs.

    Without a suite every board below the folder is checked, but for selections and what is of an
    earlier protocol; the last lines list those that are scored with older definitions.

    Args:
        options: which board.
        to: folder of leaderboards; None for that of the results.
        say: called with what stops nothing.

    Returns:
        Whether all is as its scores say, and what is not, in words.

    Raises:
        UqbenchError: there is no such board, or it is damaged.

    Example:
        >>> import pathlib, uqbench
        >>> options = uqbench.Options.of("windy-cliff", "paper")
        >>> uqbench.check_leaderboard(options, pathlib.Path("leaderboards")).good  # doctest: +SKIP
    """
    session, lines = Session(options, say=say), list[str]()
    if options.selection == Selection(""):
        return _check_all(session, session.boards(to))
    good = check(*session.stored(session.plan(), to), session.store, lines.append)
    return Checked(good, tuple(lines))


def _check_all(session: Session, root: Folder) -> Checked:
    host, lines, good = session.host, list[str](), True
    older, earlier = list[str](), list[str]()
    suites, here = read_suites(host, check=()).suites, versions_here(host)
    for folder in boards_below(root):
        suite, budget = folder.names[-2:]
        stored, own, name = StoredBoard(folder), Selection(suite, budget), f"{suite}/{budget}"
        try:
            if stored.manifest.budget["name"] != budget or suite not in suites:
                lines.append(f"{folder}: not checked, as its suite has no budget of that name")
            elif stored.departures(suites[suite], here):
                earlier.append(name)
                if not says_earlier(stored):
                    lines.append(f"{folder}: its page does not say so first: write it by --rewrite")
                    good = False
            else:
                plan = own.plan(host, "cpu", session.say)
                result = stored.board(plan, own, host, session.say)
                good &= check(stored, result, session.store, lines.append)
                older += [name] * bool(older_scores(result))
        except UqbenchError as error:
            lines.append(f"{folder}: {error}")
            good = False
    lines.append(f"Scored with older definitions: {', '.join(older) or 'none'}.")
    lines.append(f"Boards of an earlier protocol: {', '.join(earlier) or 'none'}.")
    return Checked(good, tuple(lines))


def rewrite_leaderboard(
    options: Options, to: Path | None = None, say: Say = warn
) -> tuple[Path, list[Path]]:
    """Write a stored board's tables anew from its scores; return its folder, what changed.

    Rows whose runs are in the results folder get the controls of what these stored, and methods
    that the board lacks join it if all their runs are there. A board of an earlier protocol keeps
    its tables, and its page says so first.

    Args:
        options: which board.
        to: folder of leaderboards; None for that of the results.
        say: called with what stops nothing.

    Returns:
        The board's folder, and the files that changed.

    Raises:
        UqbenchError: there is no such board, or its scores are damaged.

    Example:
        >>> import pathlib, uqbench
        >>> options = uqbench.Options.of("windy-cliff", "paper")
        >>> uqbench.rewrite_leaderboard(options, pathlib.Path("leaderboards"))  # doctest: +SKIP
    """
    session = Session(options, say=say)
    plan = session.plan()
    earlier = StoredBoard(board_folder(plan, session.boards(to)))
    if earlier.has(MANIFEST) and (
        changed := earlier.departures(plan.suite, versions_here(session.host))
    ):
        return earlier.folder, mark_earlier(earlier, changed)
    stored, result = session.stored(plan, to)
    known = with_later(result, session.store)
    whole, new = joined(stored, known, plan, session.store, session.host, say)
    files = rewrite_tables(stored, whole, session.host, new)
    if more := sorted(whole.plan.roles.keys() - known.plan.roles.keys()):
        say(f"uqbench: {', '.join(more)} joined {stored.folder}.")
    return stored.folder, files
