"""``uqbench claims``: what the runs say about the statements of a suite's papers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from uqbench.cli.options import Selection, json_option, load_host, out_option, selection_options
from uqbench.cli.terminal import say


@click.command()
@selection_options
@out_option
@click.option(
    "--from",
    "boards",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Judge by the scores.csv of the leaderboard that is stored below this folder.",
)
@json_option
def command(selection: Selection, out: Path, boards: Path | None, as_json: bool) -> None:
    """Judge each claim of a suite by the runs: holds, does not hold, undecided, not run.

    The exit code does not depend on the verdicts.

    \b
    Examples:
      uqbench claims --suite minatar --budget cpu
      uqbench claims --suite minatar --budget quick --from leaderboards
    """
    from uqbench.cli.leaderboard import board_folder
    from uqbench.cli.stored import StoredBoard
    from uqbench.results.store import Store
    from uqbench.scoring.claims.judge import judge
    from uqbench.scoring.claims.table import as_json as judgement_as_json
    from uqbench.scoring.claims.table import as_text
    from uqbench.scoring.scores import gather

    host = load_host()
    plan = selection.plan(host, "cpu")
    if boards is not None:
        stored = StoredBoard.read(plan, selection, host, board_folder(plan, boards))
        judgements = judge(stored.plan, stored.scores)
    else:
        judgements = judge(plan, gather(plan, Store(out)))
    if as_json:
        click.echo(json.dumps([judgement_as_json(judged) for judged in judgements], indent=1))
    elif not judgements:
        say(f"The suite {plan.suite.name} states no claims.")
    else:
        say(*"\n\n".join(map(as_text, judgements)).splitlines())
