"""``uqbench leaderboard``: compute a suite's leaderboard, or check one that is stored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import Selection, load_host, out_option, selection_options

if TYPE_CHECKING:
    from uqbench.plan import Plan
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
def command(selection: Selection, out: Path, to: Path | None, check: bool) -> int:
    """Compute a suite's leaderboard from the stored runs.

    With --check, recompute the tables of a stored leaderboard from its scores.csv and, where the
    runs themselves are in OUT, the scores from the runs. Exit 1 where a byte differs.

    \b
    Examples:
      uqbench leaderboard --suite minatar --budget quick
      uqbench leaderboard --suite minatar --budget quick --to leaderboards --check
    """
    from uqbench.cli.table import print_board
    from uqbench.results.store import Store
    from uqbench.scoring.leaderboard import board

    plan = selection.plan(load_host(), "cpu")
    store = Store(out)
    folder = board_folder(plan, to or out / "leaderboards")
    if check:
        return _check(plan, store, folder)
    result = board(plan, store)
    write_board(result, store, folder)
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


def _check(plan: Plan, store: Store, folder: Path) -> int:
    """Compare what is stored with what follows from it; return the exit code."""
    from uqbench.errors import UqbenchError
    from uqbench.scoring.leaderboard import Board, board
    from uqbench.scoring.scores import from_csv

    path = folder / "scores.csv"
    if not path.exists():
        raise UqbenchError(f"{path} is not there: nothing to check; write it without --check.")
    stored = {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix in (".csv", ".json")}
    text = stored["scores.csv"].decode("utf-8")
    expected = Board.of(plan, from_csv(text, str(path))).files()
    compared = "scores.csv"
    rerun = board(plan, store)
    if any(score.digest for score in rerun.scores):
        expected, compared = rerun.files(), f"the runs in {store.root}"
    differing = [name for name, text in expected.items() if stored.get(name) != text.encode()]
    for name in differing:
        click.echo(f"{folder / name}: differs from what follows from {compared}")
    if not differing:
        click.echo(f"{folder}: {', '.join(expected)} follow from {compared}, byte for byte")
    return 1 if differing else 0
