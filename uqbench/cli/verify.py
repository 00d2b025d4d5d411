"""``uqbench verify``: run a sample of stored or submitted runs again."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import FILE_THERE, FOLDER, FOLDER_THERE, json_option, selection_options
from uqbench.cli.terminal import print_json, say, warn
from uqbench.errors import UqbenchError
from uqbench.suites.selection import Selection
from uqbench.wording import count

if TYPE_CHECKING:
    from uqbench.api.experiment import Verified
    from uqbench.boards.submission.judge import Judged


@click.command()
@click.argument("bundle", required=False, type=FILE_THERE)
@partial(selection_options, suite_required=False)
@click.option(
    "--from",
    "boards",
    type=FOLDER_THERE,
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
@click.option("--out", type=FOLDER, help="Keep the repeated runs in this folder.")
@click.option(
    "--add",
    type=FOLDER,
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
    from uqbench.api.experiment import Experiment
    from uqbench.runner.display import Terminal

    experiment = Experiment(selection, out, watcher=Terminal(), say=warn)
    if bundle is not None:
        if boards is not None or selection != Selection(""):
            raise UqbenchError(
                f"{bundle} says what it is of: give no --suite, --from or other selection."
            )
        judged = experiment.judged(bundle)
        if not as_json:
            _say_judged(bundle, judged)
        verified = experiment.verify_submission(judged, sample, add)
        _show(verified, as_json)
        methods = ", ".join(judged.bundle.index.methods)
        if verified.added is not None:
            word = "verified" if verified.agreement else "self-reported"
            say(f"{verified.added}: {methods} added, {word}", err=as_json)
        elif add is not None:
            say(f"{bundle}: not added.", err=True)
        return 0 if verified.good else 1
    if not selection.suite or boards is None:
        raise UqbenchError(
            "expected a file of uqbench submit, or --suite NAME and --from BOARDS of a stored "
            "board; uqbench verify --help has an example of each."
        )
    if add is not None or sample == 0:
        raise UqbenchError("--add and --sample 0 are for a file of uqbench submit.")
    verified = experiment.verify(boards, sample)
    _show(verified, as_json)
    return 0 if verified.good else 1


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


def _show(verified: Verified, as_json: bool) -> None:
    words = {run: one.value for run, one in verified.agreement.items()}
    if as_json:
        print_json(
            words if verified.judged is None else {**_facts(verified.judged), "agreement": words}
        )
        return
    say(*(f"{run}: {word}" for run, word in words.items()))
    if words:
        counted = ", ".join(f"{n} {word}" for word, n in Counter(words.values()).items())
        say(f"{len(words)} runs: {counted}")


def _facts(judged: Judged) -> dict[str, object]:
    index = judged.bundle.index
    own = ("differing", "checks", "broken", "versions")
    return {
        "suite": index.suite, "budget": index.budget, "methods": index.methods,
        **{name: getattr(judged, name) for name in own},
    }  # fmt: skip
