"""The folders of runs below a store's root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from uqbench.results.files import NOT_A_FILE

DEPTH = 5
"""Of a run's folder: suite, budget, task, method, run."""
EARLIER = ".earlier"
"""Below it are stores, by number, of runs that were made again by ``uqbench run --fresh``."""

Listed = tuple[str, OSError | None]
"""A folder below the root, and why its own folders are not known."""


def run_folders(root: Path, suite: str | None = None) -> Iterator[Listed]:
    """Folders of runs below the root, sorted, whatever is in them; those set aside left out.

    A folder between them and the root that cannot be listed comes with the error.

    Args:
        root: of the store.
        suite: only its runs; all where it is None.
    """
    if suite is None:
        yield from _below(str(root), "", DEPTH)
    elif (root / suite).is_dir():
        yield from _below(str(root), suite, DEPTH - 1)


def _below(root: str, folder: str, depth: int) -> Iterator[Listed]:
    try:
        with os.scandir(f"{root}/{folder}") as entries:
            names = sorted(e.name for e in entries if e.is_dir() and e.name != EARLIER)
    except OSError as error:
        if error.errno not in NOT_A_FILE:  # else another process has removed it
            yield folder, error
        return
    for name in names:
        below = f"{folder}/{name}" if folder else name
        if depth > 1:
            yield from _below(root, below, depth - 1)
        elif ".damaged-" not in name:
            yield below, None
