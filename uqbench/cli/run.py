"""``uqbench run``: do what is missing of a suite, and show the leaderboard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import (
    FOLDER_THERE,
    MOST_SEEDS,
    device_option,
    out_option,
    selection_options,
    workers_option,
)
from uqbench.cli.terminal import say, warn
from uqbench.cli.where import where_options
from uqbench.errors import UqbenchError
from uqbench.suites.selection import Selection

if TYPE_CHECKING:
    from uqbench.api.experiment import DryRun
    from uqbench.boards.until_decided import Decided
    from uqbench.runner.dispatch.drive import Where


@click.command()
@selection_options
@device_option
@workers_option
@where_options
@out_option
@click.option(
    "--log",
    "loggers",
    multiple=True,
    type=click.Choice(["csv", "tensorboard", "wandb"]),
    help="Log the runs below OUT/logs; may be repeated.",
)
@click.option(
    "--keep-agents",
    is_flag=True,
    help="Store the final state of each agent beside its run, for uqbench play.",
)
@click.option("--cancel", is_flag=True, help="Cancel what an earlier command submitted, and stop.")
@click.option(
    "--fresh",
    is_flag=True,
    help="Make finished runs of other code than is installed again; the earlier ones are kept.",
)
@click.option("--dry-run", is_flag=True, help="Say what would run, and stop.")
@click.option(
    "--until-decided",
    is_flag=True,
    help="Add seeds to what claims (or ranks) leave open, until they are decided.",
)
@click.option(
    "--max-seeds",
    type=click.IntRange(3, MOST_SEEDS),
    metavar="N",
    help="Seeds of --until-decided at most; 40 by default.",
)
@click.option(
    "--beside",
    type=FOLDER_THERE,
    metavar="BOARDS",
    help="Show the runs in the leaderboard that is stored below this folder.",
)
def command(
    selection: Selection,
    device: str,
    workers: int | None,
    where: Where,
    out: Path,
    loggers: tuple[str, ...],
    keep_agents: bool,
    cancel: bool,
    fresh: bool,
    dry_run: bool,
    until_decided: bool,
    max_seeds: int | None,
    beside: Path | None,
) -> int:
    """Run a suite: do what is missing, then print its leaderboard.

    Safe to interrupt at any moment: run it again, and it does only what is missing. Unfinished runs
    resume from their last checkpoint, also on another machine that has a copy of --out. A run that
    exceeds a limit fails with that reason, and the others continue. Finished runs that were made
    with other code than is installed are named; --fresh makes them again and moves the earlier ones
    to OUT/.earlier/1 (2, …), which is a results folder, too.

    \b
    Examples:
      uqbench run --suite minatar
      uqbench run --suite minatar --budget smoke --methods qr-dqn --seed 3
      uqbench run --suite windy-cliff --budget paper --until-decided --max-seeds 60
      uqbench run --suite minatar --budget cpu --methods mine --beside leaderboards
      uqbench run --suite minatar --budget paper --device cuda --executor slurm --slurm time=240
    """
    from uqbench.api.experiment import SEEDS_ARE_CHOSEN, Experiment
    from uqbench.api.report import can_report, write_report
    from uqbench.runner.display import Terminal
    from uqbench.views.terminal import print_board
    from uqbench.wording import count

    if until_decided and (dry_run or fresh or beside is not None):
        raise UqbenchError(SEEDS_ARE_CHOSEN)
    if max_seeds is not None and not until_decided:
        raise UqbenchError("--max-seeds goes with --until-decided; --seeds N runs N seeds.")
    selection = replace(selection, keep_agents=keep_agents)
    experiment = Experiment(selection, out, device, workers, where, loggers, Terminal(), warn)
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
    done = experiment.run(rerun=fresh, beside=beside)
    if done.board is None:
        return 0
    print_board(done.board)
    say(f"{done.folder}/leaderboard.csv")
    if done.folder is not None and can_report():
        say(f"report: {write_report(done.folder, out / 'report.html')} (open it)")
    return 1 if done.unfinished else 0


def _say_decided(decided: Decided) -> None:
    """Say what was decided at which look."""
    plan, schedule = decided.plan, decided.found.schedule
    looks = ", ".join(map(str, schedule))
    say(f"Looks at {looks} seeds, 5 % of error over all of them (docs/claims.md).")
    for judged in decided.board.claims:
        at = decided.found.decided_at.get(judged.claim.id)
        end = f" at {at} seeds" if at is not None else f": {judged.reason}"
        say(f"{judged.claim.id}: {judged.verdict.value}{end}")
    runs, all_seeds = len(plan.runs), schedule[-1] * len(plan.cells)
    say(f"{runs:,} runs; {schedule[-1]} seeds of every method would be {all_seeds:,}.")


def _show_cost(left: DryRun) -> None:
    """Print what would run, and how long each method would take."""
    from uqbench.wording import duration

    expected, err = left.expected, bool(left.script)  # a script is the result
    device = "device" if left.device == "cuda" else "one core"
    say(f"method                 to do  have  {device:>8}      disk  memory of a run", err=err)
    for one in left.methods:
        memory = "not measured yet" if one.megabytes is None else f"{one.megabytes:,.0f} MB"
        runs = f"{one.method:22} {one.to_do:5,} {one.have:5,}"
        disk = "?" if one.disk is None else f"{one.disk:,.1f} MB"
        say(f"{runs}  {duration(one.seconds):>8}  {disk:>8}  {memory}", err=err)
    if expected.basis:
        say(f"in all, on one core: {duration(expected.seconds)} (from {expected.basis})", err=err)
    say(*left.script.splitlines())
    say(*filter(None, [left.note]), err=True)
