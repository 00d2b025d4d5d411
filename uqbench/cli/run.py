"""``uqbench run``: do what is missing of a suite, and show the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from uqbench.api.options import Options
from uqbench.cli.options import PLACE, RUNS, FileThere, FolderThere, takes
from uqbench.cli.terminal import say, warn
from uqbench.contract.specs import Kind

if TYPE_CHECKING:
    from uqbench.api.plan import Planned


@takes(*RUNS, *PLACE, "device", "workers", "out", "keep_agents", "train_only", "judge", suite=False)
def command(
    options: Options,
    *,
    cancel: bool = False,
    rerun: bool = False,
    dry_run: bool = False,
    beside: FolderThere | None = None,
    table: FileThere | None = None,
    target: str | None = None,
    groups: str | None = None,
    kind: Kind | None = None,
) -> int:
    """Run a suite, and print its leaderboard.

    Safe to interrupt at any moment: run it again, and it does only what is missing. Unfinished runs
    resume from their last checkpoint, also on another machine that has a copy of --out. A run that
    exceeds a limit fails with that reason, and the others continue. Finished runs that were made
    with other code than is installed are named; --rerun makes them again and moves the earlier ones
    to OUT/.earlier/1 (2, …), which is a results folder, too.

    A run is trained, then judged: evaluated and asked. --train-only stops between, and --judge goes
    on there, also on another machine that has a copy of --out.

    \b
    Examples:
      uqbench run --suite minatar
      uqbench run --suite minatar --budget smoke --methods qr-dqn --seed 3
      uqbench run --suite windy-cliff --budget paper --seeds 60
      uqbench run --suite minatar --budget night --methods mine --beside leaderboards
      uqbench run --table prices.csv --target price --groups firm
      uqbench run --suite minatar --budget paper --device cuda --executor slurm --slurm time=240

    Args:
        cancel: Cancel what an earlier command submitted, and stop.
        rerun: Rerun finished runs that were made with different code; the earlier ones are kept.
        dry_run: Say what would run, and stop.
        beside: Show the runs in the leaderboard that is stored below this folder.
        table: A .csv, .tsv or .parquet file, run as a task of the suite tables.
        target: The column of the table to predict.
        groups: A column of it; rows with the same value are on one side of a split.
        kind: What the target is; found from the column by default.
    """
    import uqbench
    from uqbench.api import execute
    from uqbench.api.session import Session
    from uqbench.contract.errors import UqbenchError, contained
    from uqbench.contract.wording import count
    from uqbench.pages.terminal import print_board
    from uqbench.registry.packages import can_report
    from uqbench.runner.display import Terminal

    if table is None and (target or groups or kind):
        raise UqbenchError("--target, --groups and --kind are of a table: expected --table, too.")
    if table is not None:
        options = uqbench.table_options(options, table, target, groups, kind)
    session = Session(options, Terminal(), warn)
    if cancel:
        say(f"Canceled {count(execute.cancel(session), 'job')}; run again to resume.", err=True)
        return 0
    if dry_run:
        show_cost(execute.dry_run(session, beside))
        return 0
    done = execute.execute(session, rerun=rerun, beside=beside)
    if done.board is None:
        return 0
    print_board(done.board)
    said = [f"{done.folder}/leaderboard.csv"]
    if done.folder is not None and can_report():
        with contained(warn, "the runs are done, and there is no report: "):
            at = Path(options.out or ".") / "report.html"
            said += [f"report: {uqbench.write_report(done.folder, at, warn)} (open it)"]
    say(*said)
    return 1 if done.unfinished else 0


def show_cost(left: Planned) -> None:
    """Print what would run, and how long each method would take."""
    from uqbench.contract.wording import duration

    err = bool(left.script)  # a script is the result
    say(f"method                 to do  have  {left.where:>10}", err=err)
    for method, to_do, have, seconds in left.methods.itertuples(index=False):
        say(f"{method:22} {to_do:5,} {have:5,}  {duration(seconds):>10}", err=err)
    if basis := left.expected.basis:
        say(f"in all, on {left.where}: {duration(left.seconds)} (from {basis})", err=err)
    say(*left.script.splitlines())
    say(*filter(None, [left.detectable, *left.note.splitlines()]), err=True)
