"""Where a batch goes on from: the checkpoint that its runs name, if it fits them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from uqbench.identity import Run
from uqbench.results.records import Provenance
from uqbench.results.store import Store
from uqbench.runner.checkpoints.files import Checkpoint, UnusableError, read, remove


@dataclass(frozen=True)
class Origin:
    """A checkpoint to go on from.

    Attributes:
        folder: of the checkpoint.
        about: what it belongs to.
        lanes: the runs that it holds: all of them go on together, also those that are not wanted
            any more, since a state is not divisible.
    """

    folder: Path
    about: Checkpoint
    lanes: tuple[Run, ...]


def named_folders(runs: Iterable[Run], store: Store) -> set[Path | None]:
    """The checkpoints that runs name; None where one names none."""
    records = (store.read(run.folder).record for run in runs)
    saved = (None if record is None else record.checkpoint for record in records)
    return {None if one is None else store.root / one.folder for one in saved}


def find_origin(runs: Sequence[Run], store: Store, provenance: Provenance) -> Origin | None:
    """What some runs of one cell go on from, or None where they have no checkpoint.

    Raises:
        UnusableError: there is one, and it is damaged or does not fit.
    """
    folders = named_folders(runs, store)
    if folders == {None}:
        return None
    if len(folders) > 1:
        raise UnusableError("the runs do not share one checkpoint")
    folder = folders.pop()
    assert folder is not None
    about = read(folder)
    lanes = tuple(
        replace(runs[0], seed=seed, identity={**runs[0].identity, "seed": seed})
        for seed in about.seeds
    )
    if tuple(run.digest for run in lanes) != about.runs or not set(runs) <= set(lanes):
        raise UnusableError(f"{folder} belongs to other runs")
    for kind in ("versions", "content"):
        before, here = getattr(about.provenance, kind), getattr(provenance, kind)
        other = [name for name in sorted({*before, *here}) if before.get(name) != here.get(name)]
        if other:
            raise UnusableError(f"{folder} was made with other {kind} of {', '.join(other)}")
    return Origin(folder, about, lanes)


def tidy(folder: Path, lanes: Iterable[Run], store: Store) -> None:
    """Remove a checkpoint that none of the runs that it holds names any more."""
    if folder not in named_folders(lanes, store):
        remove(folder)
