"""The folders of runs below a store's root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

DEPTH = 5
"""Of a run's folder: suite, budget, task, method, run."""
EARLIER = ".earlier"
"""Below it are stores, by number, of runs that were made again by ``uqbench run --fresh``."""


def run_folders(root: Path, suite: str | None = None) -> Iterator[str]:
    """Folders of runs below the root, sorted, whatever is in them; those set aside left out.

    Args:
        root: of the store.
        suite: only its runs; all where it is None.
    """
    if suite is None:
        yield from _below(str(root), "", DEPTH)
    elif (root / suite).is_dir():
        yield from _below(str(root), suite, DEPTH - 1)


def _below(root: str, folder: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(f"{root}/{folder}") as found:
            names = sorted(e.name for e in found if e.is_dir() and e.name != EARLIER)
    except OSError:  # removed by another process, or somebody else's
        return
    for name in names:
        below = f"{folder}/{name}" if folder else name
        if depth > 1:
            yield from _below(root, below, depth - 1)
        elif ".damaged-" not in name:
            yield below
