"""``uqbench leaderboard``: compute a suite's leaderboard, or check one that is stored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import Selection, json_option, load_host, out_option, selection_options

if TYPE_CHECKING:
    from uqbench.plan import Plan
    from uqbench.plugins import Host
    from uqbench.results.store import Store
    from uqbench.scoring.leaderboard import Board


@click.command()
@selection_options
@out_option
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write below this folder instead of OUT/leaderboards.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing: recompute what is stored and compare every byte.",
)
@json_option
def command(selection: Selection, out: Path, to: Path | None, check: bool, as_json: bool) -> int:
    """Compute a suite's leaderboard from the stored runs.

    With --check, recompute the tables of a stored leaderboard from its scores.csv, and compare its
    rows with those runs that are in OUT. Exit 1 where a byte differs.

    \b
    Examples:
      uqbench leaderboard --suite minatar --budget quick
      uqbench leaderboard --suite minatar --budget quick --to leaderboards --check
    """
    from uqbench.cli.table import print_board
    from uqbench.results.store import Store
    from uqbench.scoring.leaderboard import board

    host = load_host()
    plan = selection.plan(host, "cpu")
    store = Store(out)
    folder = board_folder(plan, to or out / "leaderboards")
    if check:
        return _check(plan, selection, host, store, folder)
    result = board(plan, store)
    write_board(result, store, folder)
    if as_json:
        click.echo(json.dumps(result.rows(), indent=1))
    else:
        print_board(result)
        click.echo(str(folder / "leaderboard.csv"))
    return 0


def board_folder(plan: Plan, root: Path) -> Path:
    """Where a plan's leaderboard is kept."""
    return root / plan.suite.name / plan.name


def write_board(result: Board, store: Store, folder: Path) -> None:
    """Write a board's tables, its manifest and the cost of its runs."""
    from uqbench.scoring.cost import cost_csv
    from uqbench.scoring.leaderboard import write

    write({**result.files(), "cost.csv": cost_csv(result.plan, result.scores, store)}, folder)


def _check(plan: Plan, selection: Selection, host: Host, store: Store, folder: Path) -> int:
    """Compare what is stored with what follows from it; return the exit code.

    The stored board's own methods are what is checked: others may be installed here.
    """
    from uqbench.errors import UqbenchError
    from uqbench.scoring.leaderboard import Board
    from uqbench.scoring.scores import check_scores, from_csv, gather

    path = folder / "scores.csv"
    if not path.exists():
        raise UqbenchError(f"{path} is not there: nothing to check; write it without --check.")
    stored = {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix in (".csv", ".json")}
    scores = from_csv(stored["scores.csv"].decode("utf-8"), str(path))
    methods = tuple(sorted({score.method for score in scores}))
    if methods:
        own = replace(selection, methods=methods).plan(host, "cpu")
        plan = replace(own, standard=plan.standard)
    check_scores(scores, plan, str(path))
    expected = Board.of(plan, scores).files()
    differing = [name for name, text in expected.items() if stored.get(name) != text.encode()]
    for name in differing:
        click.echo(f"{folder / name}: differs from what follows from scores.csv")
    rerun = {(s.task, s.method, s.seed): s for s in gather(plan, store) if s.digest}
    for score in scores:
        own_score = rerun.get((score.task, score.method, score.seed))
        if own_score is not None and own_score != score:
            differing.append(score.run)
            click.echo(f"{path}: the row of {score.run} differs from the run in {store.root}")
    if not differing:
        click.echo(
            f"{folder}: {', '.join(expected)} follow from scores.csv, byte for byte; "
            f"{len(rerun)} of its {len(scores)} rows compared with runs in {store.root}"
        )
    return 1 if differing else 0
