"""``uqbench status``: what is done, running, failed."""

from pathlib import Path

from uqbench.api.options import Options
from uqbench.cli.options import takes
from uqbench.cli.terminal import print_json, say


@takes("out")
def command(options: Options, *, as_json: bool = False) -> None:
    """Show which runs are done, running or failed.

    With reasons and the time left. Reads run.json of each run, and the progress of what is
    executed; then asks a cluster's scheduler about the jobs that you submitted to it.

    \b
    Example:
      uqbench status --out results

    Args:
        as_json: Print JSON.
    """
    from uqbench.api.status import jobs, status, summary
    from uqbench.contract.wording import duration

    out = Path(options.out or "results")
    if as_json:
        print_json(status(out))
        return
    cells, unfinished = summary(out)
    if not cells:
        say(f"No runs in {out}/.")
    for cell, counts in cells.items():
        say(f"{cell}: {', '.join(f'{n} {state}' for state, n in sorted(counts.items()))}")
    for entry in unfinished:
        if entry["state"] == "running":
            left = entry["seconds_left"]
            eta = "" if left is None else f", about {duration(left)} left"
            say(f"running: {entry['run']}: {entry['step']:,} of {entry['steps']:,}{eta}")
        elif entry["reason"]:
            at = entry["checkpoint_step"]
            on = "" if at is None else f"; resumes from step {at:,} of {entry['steps']:,}"
            on += "; traceback: its run.json" * (entry["state"] == "failed")
            say(f"{entry['state']}: {entry['run']}: {entry['reason']}{on}")
    for sentence in jobs(out):
        say(sentence)
