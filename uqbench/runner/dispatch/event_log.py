"""What progress files tell: events again, and where each run is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, assert_never

from uqbench.executor import ORDERS
from uqbench.runner import events
from uqbench.runner.batching.batches import Batch
from uqbench.runner.dispatch.progress import Entry, read_progress


class Now(NamedTuple):
    """Where a run is: its step, and steps a second since it began or resumed."""

    step: int
    rate: float


def steps_now(root: Path) -> dict[str, Now]:
    """The latest steps of each run that is executed or was, by its folder."""
    found: dict[str, Now] = {}
    times = []
    for path in (root / ORDERS).glob("*.progress"):
        with suppress(OSError):  # removed meanwhile
            times.append((path.stat().st_mtime, path))
    for _, path in sorted(times):  # the newest last
        progress = read_progress(root, path.stem)
        if progress is None:
            continue
        began = {e.runs[0]: e.step for e in progress.entries if e.kind == "started"}
        for first, entry in progress.latest.items():
            steps = entry.step - began.get(first, 0)
            rate = steps / entry.seconds if entry.seconds else 0.0
            found |= {progress.runs[at]: Now(entry.step, rate) for at in entry.runs}
    return found


def event_of(
    entry: Entry,
    batch: Batch,
    scalars: Callable[[], Mapping[int, Mapping[str, float | None]]],
    positions: Mapping[int, int],
) -> events.Event:
    """The event that an entry tells of.

    Args:
        entry: from a file.
        batch: with its runs.
        scalars: returns the final metrics of its runs, by seed.
        positions: the seed of each position.
    """
    match entry.kind:
        case "started":
            return events.Started(batch, entry.step, entry.seconds, max(1, entry.lanes))
        case "progress":
            metrics = {seed: entry.metrics.get(at, {}) for at, seed in positions.items()}
            return events.Progress(batch, entry.step, entry.seconds, metrics)
        case "finished":
            return events.Finished(batch, entry.seconds, scalars())
        case "failed":
            return events.Failed(batch, entry.text, entry.full)
        case "split":
            return events.Split(batch, entry.text, max(1, entry.lanes))
        case "taken":
            return events.Taken(batch)
        case "set aside":
            return events.SetAside(batch, entry.text)
        case "notice":
            return events.Notice(batch, entry.text)
        case _:
            assert_never(entry.kind)
