"""``uqbench verify``: run a sample of stored or submitted runs again."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.amounts import count
from uqbench.cli.options import Selection, json_option, load_host, selection_options
from uqbench.cli.terminal import say, warn
from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    from uqbench.boards.agreement import Agreement
    from uqbench.boards.leaderboard import Board
    from uqbench.boards.scores import Score
    from uqbench.boards.submission.judge import Judged
    from uqbench.registry.plugins import Host


@click.command()
@click.argument(
    "bundle", required=False, type=click.Path(dir_okay=False, exists=True, path_type=Path)
)
@partial(selection_options, suite_required=False)
@click.option(
    "--from",
    "boards",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="The folder of leaderboards whose runs are repeated.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="How many runs; of a stored board the same ones each time, of a file drawn anew.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the repeated runs in this folder.",
)
@click.option(
    "--add",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="BOARDS",
    help="Add the file's rows to the leaderboard that is stored below this folder.",
)
@json_option
def command(
    bundle: Path | None,
    selection: Selection,
    boards: Path | None,
    sample: int,
    out: Path | None,
    add: Path | None,
    as_json: bool,
) -> int:
    """Run a sample of a board's runs again on the CPU, and compare the numbers.

    Says of each: same bits; same to the last places (another processor); other numbers that are
    statistically consistent with the stored runs; or statistically inconsistent, and exits with 1.

    Of a file that uqbench submit made, the tables are recomputed, too. With --add its rows join a
    stored board, as "verified", or as "self-reported" with --sample 0. Its methods must be
    installed: they are run here.

    \b
    Examples:
      uqbench verify --suite five-state --budget paper --from leaderboards --sample 3
      uqbench verify minatar-paper-mine.zip --sample 2 --add leaderboards
    """
    if bundle is not None:
        if boards is not None or selection != Selection(""):
            raise UqbenchError(
                f"{bundle} says what it is of: give no --suite, --from or other selection."
            )
        return _bundle(bundle, sample, out, add, as_json)
    if not selection.suite or boards is None:
        raise UqbenchError(
            "expected a file of uqbench submit, or --suite NAME and --from BOARDS of a stored "
            "board; uqbench verify --help has an example of each."
        )
    if add is not None or sample == 0:
        raise UqbenchError("--add and --sample 0 are for a file of uqbench submit.")
    from uqbench.boards.board_files import board_folder
    from uqbench.boards.protocol import check_as_run
    from uqbench.boards.provenance import of_older_code
    from uqbench.boards.reproduce import sample as sampled
    from uqbench.boards.stored import StoredBoard

    host = load_host()
    plan = selection.plan(host, "cpu")
    folder = board_folder(plan, boards)
    board = StoredBoard(folder).board(plan, selection, host, warn)
    check_as_run(board, folder)
    chosen = sampled(board, sample, folder.name)
    older = of_older_code(chosen)
    if older:
        say(f"{folder} is of older code than is installed here: {older}", err=True)
    found = _repeated(board, chosen, host, out)
    if as_json:
        click.echo(json.dumps(_words(found), indent=1))
    else:
        _show(found)
    return _code(found)


def _bundle(path: Path, sample: int, out: Path | None, add: Path | None, as_json: bool) -> int:
    """Judge a submission, run a sample of it again, and add its rows; return the exit code."""
    from uqbench.boards.reproduce import sample as sampled
    from uqbench.boards.submission.bundle import read_bundle
    from uqbench.boards.submission.judge import judge

    bundle = read_bundle(path)
    host = load_host()
    with tempfile.TemporaryDirectory(prefix="uqbench-verify-") as temporary:
        judged = judge(bundle, host, Path(temporary), warn)
        if not as_json:
            _say_judged(path, judged)
        found: Mapping[str, Agreement] = {}
        if sample and judged.follows:
            # an author cannot know which runs will be made again
            chosen = sampled(judged.board, sample, secrets.token_hex(16))
            found = _repeated(judged.board, chosen, host, out)
        if as_json:
            click.echo(json.dumps({**_table(judged), "agreement": _words(found)}, indent=1))
        else:
            _show(found)
        code = _code(found) if judged.follows else 1
        if add is not None:
            if code:
                say(f"{path}: not added.", err=True)
            else:
                from uqbench.boards.submission.add import add as added
                from uqbench.views.board_folders import write_joined

                joined = added(judged, found, host, add, warn)
                write_joined(joined, host)
                word = "verified" if found else "self-reported"
                say(
                    f"{joined.folder}: {', '.join(bundle.index.methods)} added, {word}", err=as_json
                )
    return code


def _repeated(
    board: Board, chosen: Sequence[Score], host: Host, out: Path | None
) -> dict[str, Agreement]:
    """Make runs again, in a folder of their own unless they are to be kept."""
    from uqbench.boards.reproduce import reproduce
    from uqbench.results.store import Store
    from uqbench.runner.complete import Execution
    from uqbench.runner.dispatch.drive import Driver, Where
    from uqbench.runner.display import Terminal

    with tempfile.TemporaryDirectory() as temporary:
        store = Store(out or Path(temporary))
        store.prepare()
        driver = Driver(Where(checkpoint_seconds=0.0), host, store.root)
        kept = out is not None
        return reproduce(
            board, chosen, Execution(host, "cpu", store, Terminal(), None, driver, kept=kept)
        )


def _say_judged(path: Path, judged: Judged) -> None:
    index = judged.bundle.index
    say(f"{path}: {index.suite}, budget {index.budget}: {', '.join(index.methods)}")
    for name in judged.differing:
        say(f"{name}: differs from what follows from scores.csv")
    if not judged.differing:
        say(f"its tables follow from its {count(len(judged.board.scores), 'score')}, byte for byte")
    reported = ", ".join(f"{n} {status}" for status, n in sorted(judged.checks.items()))
    say(f"conformance, as reported: {reported or 'nothing'}")
    for rule in judged.broken:
        say(f"  {rule}")
    if judged.versions:
        say(f"made with other versions: {', '.join(judged.versions)}")


def _table(judged: Judged) -> dict[str, object]:
    index = judged.bundle.index
    return {
        "suite": index.suite,
        "budget": index.budget,
        "methods": index.methods,
        "differing": judged.differing,
        "checks": judged.checks,
        "broken": judged.broken,
        "versions": judged.versions,
    }


def _words(found: Mapping[str, Agreement]) -> dict[str, str]:
    return {run: one.value for run, one in found.items()}


def _show(found: Mapping[str, Agreement]) -> None:
    say(*(f"{run}: {one.value}" for run, one in found.items()))
    counted = Counter(one.value for one in found.values())
    if found:
        say(f"{len(found)} runs: {', '.join(f'{n} {what}' for what, n in counted.items())}")


def _code(found: Mapping[str, Agreement]) -> int:
    from uqbench.boards.agreement import Agreement

    return 1 if Agreement.INCONSISTENT in found.values() else 0
