"""``uqbench run``: do what is missing of a suite, and show the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from uqbench.api.options import Options
from uqbench.api.values import MOST
from uqbench.cli.options import PLACE, RUNS, FolderThere, takes
from uqbench.cli.terminal import say, warn
from uqbench.contract.errors import UqbenchError

if TYPE_CHECKING:
    from uqbench.api.plan import Planned
    from uqbench.boards.until_decided import Decided


@takes(*RUNS, *PLACE, "device", "workers", "out", "keep_agents")
def command(
    options: Options,
    *,
    cancel: bool = False,
    rerun: bool = False,
    dry_run: bool = False,
    until_decided: bool = False,
    max_seeds: Annotated[int | None, click.IntRange(3, MOST)] = None,
    beside: FolderThere | None = None,
) -> int:
    """Run a suite: do what is missing, then print its leaderboard.

    Safe to interrupt at any moment: run it again, and it does only what is missing. Unfinished runs
    resume from their last checkpoint, also on another machine that has a copy of --out. A run that
    exceeds a limit fails with that reason, and the others continue. Finished runs that were made
    with other code than is installed are named; --rerun makes them again and moves the earlier ones
    to OUT/.earlier/1 (2, …), which is a results folder, too.

    \b
    Examples:
      uqbench run --suite minatar
      uqbench run --suite minatar --budget smoke --methods qr-dqn --seed 3
      uqbench run --suite windy-cliff --budget paper --until-decided --max-seeds 60
      uqbench run --suite minatar --budget cpu --methods mine --beside leaderboards
      uqbench run --suite minatar --budget paper --device cuda --executor slurm --slurm time=240

    Args:
        cancel: Cancel what an earlier command submitted, and stop.
        rerun: Rerun finished runs that were made with different code; the earlier ones are kept.
        dry_run: Say what would run, and stop.
        until_decided: Add seeds to what claims (or ranks) leave open, until they are decided.
        max_seeds: Seeds of --until-decided at most; 40 by default.
        beside: Show the runs in the leaderboard that is stored below this folder.
    """
    from uqbench.api.experiment import SEEDS_ARE_CHOSEN, Experiment
    from uqbench.api.report import can_report, write_report
    from uqbench.contract.wording import count
    from uqbench.pages.terminal import print_board
    from uqbench.runner.display import Terminal

    if until_decided and (dry_run or rerun or beside is not None):
        raise UqbenchError(SEEDS_ARE_CHOSEN)
    if max_seeds is not None and not until_decided:
        raise UqbenchError("--max-seeds goes with --until-decided; --seeds N runs N seeds.")
    experiment = Experiment(options, Terminal(), warn)
    if cancel:
        say(f"Canceled {count(experiment.cancel(), 'job')}; run again to resume.", err=True)
        return 0
    if dry_run:
        _show_cost(experiment.dry_run(beside))
        return 0
    if until_decided:
        analyses = experiment.until_decided(max_seeds)
        if analyses is None:
            return 1
        decided, folder = analyses
        print_board(decided.board)
        _say_decided(decided)
        say(str(folder / "leaderboard.csv"))
        return 0
    done = experiment.run(rerun=rerun, beside=beside)
    if done.board is None:
        return 0
    print_board(done.board)
    say(f"{done.folder}/leaderboard.csv")
    if done.folder is not None and can_report():
        report = write_report(done.folder, Path(options.out or ".") / "report.html", warn)
        say(f"report: {report} (open it)")
    return 1 if done.unfinished else 0


def _say_decided(decided: Decided) -> None:
    """Say what was decided at which look."""
    plan, schedule = decided.board.plan, decided.analyses.schedule
    analyses = ", ".join(map(str, schedule))
    say(f"Interim analyses at {analyses} seeds, 5 % of error over all of them (docs/claims.md).")
    for judged in decided.board.claims:
        at = decided.analyses.decided_at.get(judged.claim.id)
        end = f" at {at} seeds" if at is not None else f": {judged.reason}"
        say(f"{judged.claim.id}: {judged.verdict.value}{end}")
    runs, all_seeds = len(plan.runs), schedule[-1] * len(plan.cells)
    say(f"{runs:,} runs; {schedule[-1]} seeds of every method would be {all_seeds:,}.")


def _show_cost(left: Planned) -> None:
    """Print what would run, and how long each method would take."""
    from uqbench.contract.wording import duration

    err = bool(left.script)  # a script is the result
    say(f"method                 to do  have  {left.where:>10}", err=err)
    for method, to_do, have, seconds in left.methods.itertuples(index=False):
        say(f"{method:22} {to_do:5,} {have:5,}  {duration(seconds):>10}", err=err)
    if basis := left.expected.basis:
        say(f"in all, on {left.where}: {duration(left.seconds)} (from {basis})", err=err)
    say(*left.script.splitlines())
    say(*filter(None, [left.detectable, left.note]), err=True)
