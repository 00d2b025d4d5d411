"""``uqbench merge``: one results folder out of several."""

from collections import Counter

from uqbench.cli.options import Folder, FolderThere, takes
from uqbench.cli.terminal import print_json, say, warn


@takes(names={"sources": "FOLDER…"})
def command(
    sources: tuple[FolderThere, ...], *, into: Folder, dry_run: bool = False, as_json: bool = False
) -> int:
    """Copy the finished runs of results folders into one, by their identities.

    A run that is there already with the same results is left alone. One that is there with other
    results is refused, with the reason; so is one whose files do not match its record, as in a copy
    that was made in the middle of a run. Exit 1 where something was refused.

    \b
    Example:
      uqbench merge cluster-a/results cluster-b/results --into results

    Args:
        into: The results folder that the runs are copied to.
        dry_run: Say what would be copied, and stop.
        as_json: Print JSON.
    """
    from uqbench.results.merge import Outcome, merge
    from uqbench.results.store import Store

    note = "" if dry_run else Store(into).prepare()
    if note:
        warn(f"Runs are locked by leases: {note}.")
    merged = list(merge(sources, into, dry_run))
    counted = Counter(one.outcome for one in merged)
    if as_json:
        keys = ("from", "run", "outcome", "reason")
        rows = [(str(one.source), str(one.run), one.outcome.value, one.reason) for one in merged]
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        for one in merged:
            if one.reason:
                say(f"{one.outcome.value}: {one.source}/{one.run}: {one.reason}")
        would = "would be " if dry_run else ""
        shown = [
            f"{counted[one]} {would if one is Outcome.COPIED else ''}{one.value}"
            for one in Outcome
            if counted[one]
        ]
        say(f"{len(merged)} runs: {', '.join(shown)}; in {into}/.")
    return 1 if counted[Outcome.CONFLICT] + counted[Outcome.DAMAGED] else 0
