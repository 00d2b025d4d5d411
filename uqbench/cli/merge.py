"""``uqbench merge``: one results folder out of several."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click

from uqbench.cli.options import json_option
from uqbench.cli.terminal import say


@click.command()
@click.argument(
    "sources",
    nargs=-1,
    required=True,
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="FOLDER…",
)
@click.option(
    "--into",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="The results folder that the runs are copied to.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be copied, and stop.")
@json_option
def command(sources: tuple[Path, ...], into: Path, dry_run: bool, as_json: bool) -> int:
    """Copy the finished runs of results folders into one, by their identities.

    A run that is there already with the same results is left alone. One that is there with other
    results is refused, with the reason; so is one whose files do not match its record, as in a copy
    that was made in the middle of a run. Exit 1 where something was refused.

    \b
    Example:
      uqbench merge cluster-a/results cluster-b/results --into results
    """
    from uqbench.results.merge import Outcome, merge
    from uqbench.results.store import Store

    if not dry_run:
        note = Store(into).prepare()
        if note:
            say(f"Runs are locked by leases: {note}.", err=True)
    found = list(merge(sources, into, dry_run))
    refused = [one for one in found if one.outcome in (Outcome.CONFLICT, Outcome.DAMAGED)]
    if as_json:
        rows = [
            {"from": str(one.source), "run": str(one.run), "fate": one.outcome.value,
             "reason": one.reason}
            for one in found
        ]  # fmt: skip
        click.echo(json.dumps(rows, indent=1))
        return 1 if refused else 0
    for one in found:
        if one.reason:
            say(f"{one.outcome.value}: {one.source}/{one.run}: {one.reason}")
    counted = Counter(one.outcome for one in found)
    would = "would be " if dry_run else ""
    shown = [
        f"{number} {would if fate is Outcome.COPIED else ''}{fate.value}"
        for fate in Outcome
        if (number := counted[fate])
    ]
    say(f"{len(found)} runs: {', '.join(shown)}; in {into}/.")
    return 1 if refused else 0
