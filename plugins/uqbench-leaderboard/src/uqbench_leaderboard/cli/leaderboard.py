"""``uqbench leaderboard``: compute a suite's leaderboard, or check one that is stored."""

from typing import Annotated

from uqbench.api.options import Options
from uqbench.cli.options import RUNS, Folder, takes
from uqbench.cli.terminal import print_json, say, warn


@takes(*RUNS, "out", suite=False)
def command(
    options: Options,
    *,
    to: Folder | None = None,
    check: bool = False,
    rewrite: bool = False,
    risk: Annotated[str | None, "MEASURE"] = None,
    rescore: Annotated[str | None, "SCORE"] = None,
    as_json: bool = False,
) -> int:
    """Compute a suite's board from stored runs.

    With --check, recompute the tables of a stored leaderboard from its scores, and compare its
    rows with those runs that are in OUT. Exit 1 where a byte differs. --check without --suite
    checks every leaderboard; the last lines list those that are scored with older definitions.

    \b
    Examples:
      uqbench leaderboard --suite minatar --budget quick
      uqbench leaderboard --suite minatar --budget quick --to leaderboards --check
      uqbench leaderboard --to leaderboards --check
      uqbench leaderboard --suite minatar --budget quick --risk "cvar(0.1)"
      uqbench leaderboard --suite ood-digits --budget paper --rescore nll

    Args:
        to: Write below this folder instead of OUT/leaderboards.
        check: Write nothing: recompute what is stored and compare every byte.
        rewrite: Write the stored tables anew from their scores, e.g. with claims that came
            later, and with controls and further methods of those runs that are in OUT.
        risk: Score by another risk measure, e.g. cvar(0.1), from the stored episodes.
        rescore: Add a registered score, from the stored predictions of estimators; nothing is run.
        as_json: Print JSON.
    """
    from uqbench.contract.errors import UqbenchError
    from uqbench.pages.terminal import print_board
    from uqbench_leaderboard.api import check_leaderboard, leaderboard, rewrite_leaderboard

    if (check, rewrite, risk is not None, rescore is not None).count(True) > 1:
        raise UqbenchError(
            "--check compares, --rewrite writes stored scores, --risk and --rescore compute others "
            "from the runs: give one of them."
        )
    if check:
        checked = check_leaderboard(options, to, warn)
        say(*checked.lines)
        return 0 if checked.good else 1
    if rewrite:
        folder, changed = rewrite_leaderboard(options, to, warn)
        say(f"{folder}: {', '.join(path.name for path in changed) or 'nothing'} changed")
        return 0
    written = leaderboard(options, to, risk, rescore, warn)
    if as_json:
        print_json(written.board.rows())
    else:
        print_board(written.board)
        say(str(written.folder / "leaderboard.csv"))
    return 0
