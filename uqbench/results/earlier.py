"""``<root>/.earlier/<number>``: finished runs that were made again, as stores of their own.

A run keeps its folder below the new root, so that every command reads it: ``--out
results/.earlier/1``. Nothing below is ever written to again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from uqbench.errors import StorageError
from uqbench.identity import Run
from uqbench.results.files import flush_names, make_folder
from uqbench.results.listing import EARLIER
from uqbench.results.paths import run_folder
from uqbench.results.states import StoredRun
from uqbench.results.store import Store


def move_earlier(
    store: Store, runs: Iterable[Run], is_meant: Callable[[StoredRun], bool]
) -> tuple[Path, list[Run]]:
    """Move runs to a store of their own, so that they can be made again.

    Args:
        store: that they are in.
        runs: to move; those that another process has locked stay.
        is_meant: whether a run, once locked, still is what should be moved: another process may
            have made it again.

    Returns:
        The root of the other store, and what was moved.

    Raises:
        StorageError: one cannot be moved; it stays.
    """
    number = 1
    while os.path.lexists(store.root / EARLIER / str(number)):
        number += 1
    root = store.root / EARLIER / str(number)
    if store.is_linked(root):
        raise StorageError(f"{store.root / EARLIER} is a symbolic link; runs are not moved there.")
    moved = []
    for run in runs:
        lock = store.lock(run)
        if lock is None:
            continue
        try:
            if is_meant(store.find(run)):
                _move(store.folder(run), run_folder(root, run.folder))
                moved.append(run)
        finally:
            lock.release()
    return root, moved


def _move(folder: Path, target: Path) -> None:
    try:
        make_folder(target.parent)
        folder.rename(target)
        flush_names(target.parent)
        flush_names(folder.parent)
    except OSError as error:
        raise StorageError(f"{folder} cannot be moved to {target}: {error.strerror}") from error
