"""``uqbench leaderboard``: compute a suite's leaderboard, or check one that is stored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import Selection, json_option, load_host, out_option, selection_options
from uqbench.cli.terminal import say, warn

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board
    from uqbench.boards.stored import StoredBoard
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
        stored = StoredBoard.read(plan, selection, host, folder, warn)
        return _check(stored, store) if check else _rewrite(stored, host)
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


def _check(stored: StoredBoard, store: Store) -> int:
    """Compare what is stored with what follows from it; return the exit code.

    The stored board's own methods and claims are what is checked: others may be installed here.
    """
    from uqbench.boards.planned import Planned, missing_note
    from uqbench.boards.provenance import of_older_code
    from uqbench.boards.scores import gather
    from uqbench.views.board_folders import stored_files

    folder, scores = stored.folder, stored.scores
    plan = replace(stored.plan, claims=stored.own_claims)
    expected = stored_files(stored, plan, stored.made[1], stored.planned)
    differing = [name for name, data in expected.items() if stored.files.get(name) != data]
    for name in differing:
        say(f"{folder / name}: differs from what follows from scores.csv")
    rerun = {(s.task, s.method, s.seed): s for s in gather(plan, store) if s.digest}
    measured = [metric.name for metric in plan.suite.metrics if metric.kind == "cost"]
    for score in scores:
        own_score = rerun.get((score.task, score.method, score.seed))
        if own_score is not None and not score.same_result(own_score, measured):
            differing.append(score.run)
            say(
                f"{folder / 'scores.csv'}: the row of {score.run} differs from the run in "
                f"{store.root}"
            )
    lacking = missing_note(scores, Planned.of(plan))
    if lacking:
        say(f"{folder}: {lacking.replace('*', '').replace('`', '')}")
    if not differing:
        say(
            f"{folder}: {', '.join(expected)} follow from scores.csv, byte for byte; "
            f"{len(rerun)} of its {len(scores)} rows compared with runs in {store.root}"
        )
    if rerun and scores[0].digest_of == "record":
        say(
            f"{folder / 'scores.csv'}: its digests are of run.json, times and all: values were "
            f"compared, digests were not"
        )
    older = of_older_code(scores)
    if older:
        say(f"{folder}: of older code than is installed here: {older}")
    return 1 if differing else 0


def _rewrite(stored: StoredBoard, host: Host) -> int:
    """Write the tables anew from the stored scores; return the exit code."""
    from uqbench.boards.board_files import papers
    from uqbench.boards.provenance import made_with_json, of_older_code
    from uqbench.views.board_folders import write_stored

    stored.check_as_run()
    older = of_older_code(stored.scores)
    files = {**stored.files, "papers.bib": papers(stored.plan, host).encode()}
    if "made_with.json" in stored.files or older:
        files["made_with.json"] = made_with_json(stored.made[0], older).encode()
    written = write_stored(replace(stored, files=files), host)
    changed = [name for name, data in written.items() if stored.files.get(name) != data]
    say(f"{stored.folder}: {', '.join(changed) or 'nothing'} changed")
    return 0
