"""``uqbench claims``: whether the runs support the claims of the suites' papers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import Selection, json_option, load_host, out_option, selection_options
from uqbench.cli.terminal import say, warn

if TYPE_CHECKING:
    from uqbench.claims.judge import Judgement
    from uqbench.registry.plugins import Host
    from uqbench.suites.suite import Suite

COLORS = {
    "holds": "green",
    "does not hold": "red",
    "undecided": "yellow",
    "not run": "bright_black",
}


@click.command()
@partial(selection_options, suite_required=False)
@out_option
@click.option(
    "--from",
    "boards",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Judge by the scores.csv of the leaderboard that is stored below this folder.",
)
@json_option
def command(selection: Selection, out: Path, boards: Path | None, as_json: bool) -> None:
    """Judge each claim of a suite by the runs.

    A claim holds, does not hold, is undecided or not run. Without --suite: a line for each suite.
    Without --budget: the longest budget that has runs. The exit code does not depend on the
    verdicts.

    \b
    Examples:
      uqbench claims --suite minatar --budget cpu
      uqbench claims --from leaderboards
    """
    from uqbench.claims.table import as_json as judgement_as_json
    from uqbench.claims.table import as_text

    host = load_host()
    if not selection.suite:
        _overview(selection, host, out, boards, as_json)
        return
    judgements = _judged(selection, host, out, boards)
    if as_json:
        entries = [judgement_as_json(judged) for judged in judgements]
        click.echo(json.dumps(entries, indent=1, allow_nan=False))
    elif not judgements:
        say(f"The suite {selection.suite} has no claims.")
    else:
        for number, judged in enumerate(judgements):
            first, *more = as_text(judged).splitlines()
            verdict = judged.verdict.value
            say(*[""] * bool(number), first, colors={f": {verdict}": COLORS[verdict]})
            say(*more)


def _judged(
    selection: Selection, host: Host, out: Path, boards: Path | None
) -> tuple[Judgement, ...]:
    from uqbench.boards.board_files import board_folder
    from uqbench.boards.scores import gather
    from uqbench.boards.stored import StoredBoard
    from uqbench.claims.judge import judge
    from uqbench.results.store import Store
    from uqbench.suites.reading import read_suites

    suite = read_suites(host, check=()).suite(selection.suite)
    if selection.budget is None:
        found = _budgets_with_runs(suite, out, boards)
        selection = replace(selection, budget=found[0] if found else None)
    plan = selection.plan(host, "cpu")
    if boards is None:
        return judge(plan, gather(plan, Store(out)))
    stored = StoredBoard(board_folder(plan, boards))
    return stored.board(plan, selection, host, warn).claims


def _overview(
    selection: Selection, host: Host, out: Path, boards: Path | None, as_json: bool
) -> None:
    """A line a suite: its budget, and how many of its claims have which verdict."""
    from uqbench.errors import UqbenchError
    from uqbench.suites.reading import read_suites

    entries = []
    for suite in read_suites(host, check=()).suites.values():
        budgets = _budgets_with_runs(suite, out, boards)
        if selection.budget is not None:
            budgets = [name for name in budgets if name == selection.budget]
        if not suite.claims:
            continue
        entry: dict[str, object] = {"suite": suite.name, "claims": len(suite.claims)}
        if budgets:
            chosen = replace(selection, suite=suite.name, budget=budgets[0])
            try:
                judgements = _judged(chosen, host, out, boards)
            except UqbenchError as error:
                entry |= {"budget": budgets[0], "error": str(error)}
            else:
                verdicts = Counter(judged.verdict.value for judged in judgements)
                entry |= {"budget": budgets[0], "verdicts": dict(verdicts)}
        entry["papers"] = sorted({claim.paper for claim in suite.claims})
        entries.append(entry)
    if as_json:
        click.echo(json.dumps(entries, indent=1, allow_nan=False))
        return
    width = max((len(str(entry["suite"])) for entry in entries), default=0)
    for entry in entries:
        say(f"{entry['suite']!s:<{width}}  {_line(entry)}", colors=_colors(entry))


def _line(entry: dict[str, object]) -> str:
    papers = entry["papers"]
    assert isinstance(papers, list)
    about = "; ".join(papers)
    if "error" in entry:
        return f"{entry['budget']}: cannot be judged: {str(entry['error']).splitlines()[0]}"
    verdicts = entry.get("verdicts")
    if not isinstance(verdicts, dict):
        return f"no runs ({entry['claims']} claims; {about})"
    counts = [f"{verdicts[word]} {word}" for word in COLORS if word in verdicts]
    return f"{entry['budget']}: {', '.join(counts)} ({about})"


def _colors(entry: dict[str, object]) -> dict[str, str]:
    verdicts = entry.get("verdicts")
    found = verdicts if isinstance(verdicts, dict) else {}
    return {f"{found[word]} {word}": color for word, color in COLORS.items() if word in found}


def _budgets_with_runs(suite: Suite, out: Path, boards: Path | None) -> list[str]:
    """The budgets that have runs, or a stored board: those that rank first, the longer first."""
    root = out if boards is None else boards
    found = [name for name in suite.budgets if (root / suite.name / name).is_dir()]

    def length(name: str) -> tuple[bool, int]:
        budget = suite.budgets[name]
        return budget.ranks, budget.steps * budget.seeds * len(suite.tasks_of(budget))

    return sorted(found, key=length, reverse=True)
