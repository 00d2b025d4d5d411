"""``uqbench verify``: run a sample of stored runs again."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.amounts import count
from uqbench.cli.options import Selection, json_option, load_host, selection_options
from uqbench.cli.terminal import say, warn
from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    from uqbench.scoring.scores import Score
    from uqbench.suites.plan import Plan


@click.command()
@selection_options
@click.option(
    "--from",
    "boards",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    required=True,
    help="The folder of leaderboards whose runs are repeated.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="How many runs, the same ones each time.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the repeated runs in this folder.",
)
@json_option
def command(
    selection: Selection, boards: Path, sample: int, out: Path | None, as_json: bool
) -> int:
    """Run a sample of a board's runs again on the CPU, and compare the numbers.

    Says of each: same bits; same to the last places (another processor); other numbers that are
    statistically consistent with the stored runs; or statistically inconsistent, and exits with 1.

    \b
    Example:
      uqbench verify --suite five-state --budget paper --from leaderboards --sample 3
    """
    from uqbench.api.display import Terminal
    from uqbench.api.stored import StoredBoard
    from uqbench.results.store import RunState, Store
    from uqbench.runner.complete import Execution, complete
    from uqbench.runner.dispatch.drive import Driver, Where
    from uqbench.scoring.agreement import Agreement, agreement
    from uqbench.scoring.board_files import board_folder
    from uqbench.scoring.made_with import of_older_code
    from uqbench.scoring.scores import gather

    host = load_host()
    plan = selection.plan(host, "cpu")
    stored = StoredBoard.read(plan, selection, host, board_folder(plan, boards), warn)
    stored.check_as_run()
    chosen = _sample(stored.scores, sample, str(stored.folder))
    older = of_older_code(chosen)
    if older:
        say(f"{stored.folder} is of older code than is installed here: {older}", err=True)
    part = _only(stored.plan, chosen)
    with tempfile.TemporaryDirectory() as temporary:
        store = Store(out or Path(temporary))
        store.prepare()
        driver = Driver(Where(checkpoint_seconds=0.0), host, store.root)
        kept = out is not None
        execution = Execution(host, "cpu", store, Terminal(), None, driver, kept=kept)
        states = complete(part, execution)
        failed = [str(run.folder) for run, state in states.items() if state != RunState.FINISHED]
        if failed:
            raise UqbenchError(f"{count(len(failed), 'run')} did not finish: {', '.join(failed)}")
        again = {(s.task, s.method, s.seed): s for s in gather(part, store)}
    measured = [metric.name for metric in plan.suite.metrics if metric.kind == "cost"]
    found = {}
    for score in chosen:
        fresh = again[score.task, score.method, score.seed]
        cell = [s for s in stored.scores if (s.task, s.method) == (score.task, score.method)]
        found[score.run] = agreement(score, fresh, cell, measured, len(chosen))
    if as_json:
        click.echo(json.dumps({run: one.value for run, one in found.items()}, indent=1))
    else:
        say(*(f"{run}: {one.value}" for run, one in found.items()))
        counted = Counter(one.value for one in found.values())
        say(f"{len(found)} runs: {', '.join(f'{n} {what}' for what, n in counted.items())}")
    return 1 if Agreement.INCONSISTENT in found.values() else 0


def _sample(scores: list[Score], size: int, name: str) -> list[Score]:
    """Finished runs of the CPU, drawn by the board's name."""
    import numpy as np

    from uqbench.seeding import derive_seed

    usable = [score for score in scores if score.digest and score.device == "cpu"]
    if not usable:
        raise UqbenchError(f"{name} has no finished runs of a CPU that could be run again.")
    generator = np.random.default_rng(derive_seed("verify", Path(name).name))
    drawn = generator.choice(len(usable), size=min(size, len(usable)), replace=False)
    return [usable[i] for i in sorted(drawn.tolist())]


def _only(plan: Plan, scores: list[Score]) -> Plan:
    """The part of a plan that is about these runs."""
    wanted = {(score.task, score.method, score.seed) for score in scores}
    cells = tuple(
        replace(cell, runs=runs)
        for cell in plan.cells
        if (runs := tuple(r for r in cell.runs if (r.task, r.method, r.seed) in wanted))
    )
    return replace(plan, cells=cells, standard=False, claims=())
