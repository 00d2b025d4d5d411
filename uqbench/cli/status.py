"""``uqbench status``: what is done, running, failed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

from uqbench.cli.options import json_option, out_option
from uqbench.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uqbench.results.store import Store, StoredRun
    from uqbench.runner.dispatch.event_log import Latest


@click.command()
@out_option
@json_option
def command(out: Path, as_json: bool) -> None:
    """Show what is done, running and failed, with reasons and the time left.

    Reads run.json of each run, and the progress of what is executed.

    \b
    Example:
      uqbench status --out results
    """
    from uqbench.amounts import duration
    from uqbench.results.store import Store
    from uqbench.runner.dispatch.event_log import latest_steps

    store, latest = Store(out), latest_steps(out)
    entries = [_entry(folder, stored, store, latest) for folder, stored in store.records()]
    if as_json:
        click.echo(json.dumps(entries, indent=1))
        return
    if not entries:
        say(f"No runs in {out}/.")
        return
    cells: dict[str, Counter[str]] = {}
    for entry in entries:
        cells.setdefault(str(PurePosixPath(entry["run"]).parent), Counter())[entry["state"]] += 1
    for cell, counts in cells.items():
        say(f"{cell}: {', '.join(f'{n} {state}' for state, n in sorted(counts.items()))}")
    for entry in entries:
        if entry["state"] == "running":
            left = entry["seconds_left"]
            eta = "" if left is None else f", about {duration(left)} left"
            say(f"running: {entry['run']}: {entry['step']:,} of {entry['steps']:,}{eta}")
        elif entry["reason"]:
            at = entry["checkpoint_step"]
            on = "" if at is None else f"; resumes from step {at:,} of {entry['steps']:,}"
            say(f"{entry['state']}: {entry['run']}: {entry['reason']}{on}")


def _entry(
    folder: PurePosixPath, stored: StoredRun, store: Store, running: Mapping[str, Latest]
) -> dict[str, Any]:
    from uqbench.runner.checkpoints.saved import saved_step

    record = stored.record
    entry: dict[str, Any] = {
        "run": str(folder),
        "state": stored.state.value,
        "reason": stored.reason,
        "step": None,
        "steps": None,
        "checkpoint_step": None,
        "seconds_left": None,
    }
    if record is not None:
        steps = record.identity["budget"]["steps"]
        entry |= {"step": record.step, "steps": steps}
        entry["checkpoint_step"] = saved_step(record, store)
        latest = running.get(str(folder))
        if record.status == "running" and latest is not None:
            entry["step"] = max(record.step, latest.step)
            entry["seconds_left"] = latest.seconds_left
    return entry
