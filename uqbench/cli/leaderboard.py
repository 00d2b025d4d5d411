"""``uqbench leaderboard``: compute a suite's leaderboard, or check one that is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import Selection, json_option, load_host, out_option, selection_options
from uqbench.cli.terminal import say, warn

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board
    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store
    from uqbench.suites.plan import Plan


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
@click.option(
    "--rewrite",
    is_flag=True,
    help="Write the stored tables anew from their scores.csv, e.g. with claims that came later.",
)
@click.option(
    "--risk",
    metavar="MEASURE",
    help="Score by another risk measure, e.g. cvar(0.1), from the stored episodes.",
)
@json_option
def command(
    selection: Selection,
    out: Path,
    to: Path | None,
    check: bool,
    rewrite: bool,
    risk: str | None,
    as_json: bool,
) -> int:
    """Compute a suite's leaderboard from the stored runs.

    With --check, recompute the tables of a stored leaderboard from its scores.csv, and compare its
    rows with those runs that are in OUT. Exit 1 where a byte differs.

    \b
    Examples:
      uqbench leaderboard --suite minatar --budget quick
      uqbench leaderboard --suite minatar --budget quick --to leaderboards --check
      uqbench leaderboard --suite minatar --budget quick --risk "cvar(0.1)"
    """
    from uqbench.boards.board_files import board_folder
    from uqbench.boards.leaderboard import board
    from uqbench.boards.rescored import slug
    from uqbench.boards.stored import StoredBoard
    from uqbench.errors import UqbenchError
    from uqbench.results.store import Store
    from uqbench.views.board_folders import write_board
    from uqbench.views.check import check as check_board
    from uqbench.views.check import rewrite as rewrite_board
    from uqbench.views.terminal import print_board

    host = load_host()
    plan = selection.plan(host, "cpu")
    store = Store(out)
    folder = board_folder(plan, to or out / "leaderboards")
    if (check, rewrite, risk is not None).count(True) > 1:
        raise UqbenchError(
            "--check compares, --rewrite writes stored scores, --risk computes others from the "
            "runs: give one of them."
        )
    if check or rewrite:
        stored = StoredBoard(folder)
        scored = stored.board(plan, selection, host, warn)
        if check:
            return 0 if check_board(stored, scored, store, say) else 1
        changed = rewrite_board(stored, scored, host)
        say(f"{folder}: {', '.join(path.name for path in changed) or 'nothing'} changed")
        return 0
    if risk is None:
        result = board(plan, store)
    else:
        result = _with_risk(plan, risk, host, store)
        folder = folder.with_name(f"{folder.name}-{slug(risk)}")
    write_board(result, store, folder, host)
    if as_json:
        click.echo(json.dumps(result.rows(), indent=1, allow_nan=False))
    else:
        print_board(result)
        say(str(folder / "leaderboard.csv"))
    return 0


def _with_risk(plan: Plan, risk: str, host: Host, store: Store) -> Board:
    """The board by another risk measure, from the stored episodes."""
    from uqbench.boards.leaderboard import Board
    from uqbench.boards.rescored import rescored, with_risk
    from uqbench.boards.scores import gather
    from uqbench.runner.final_metrics import truth_of

    measure = host.risk_names.measure(risk)
    changed = with_risk(plan, risk)
    truths = {cell.task.name: truth_of(cell.task, host) for cell in plan.cells}
    return Board.of(changed, rescored(changed, gather(plan, store), measure, store, truths))
