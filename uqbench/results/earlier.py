"""Finished runs that are made again: moved to ``<root>/.earlier/<number>``, a store of their own.

A run keeps its folder below the new root, so that every command reads it:
``--out results/.earlier/1``. Nothing below is ever written to again.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from uqbench.contract.errors import StorageError
from uqbench.contract.identity import Run
from uqbench.results.folders import Folder
from uqbench.results.records import StoredRun
from uqbench.results.store import Store

EARLIER = ".earlier"
"""Below it are stores, by number, of runs that were made again by ``uqbench run --rerun``."""


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
    earlier, number = Folder(store.root, (EARLIER,)), 1
    while earlier.has(str(number)):
        number += 1
    root, moved = earlier.below(str(number)), []
    for run in runs:
        if (lock := store.lock(run)) is None:
            continue
        with lock:
            if is_meant(store.find(run)):
                folder, target = store.at(run.place), root.at(run.place)
                try:
                    folder.move(target)
                except OSError as error:
                    why = f"{folder} cannot be moved to {target}: {error.strerror}"
                    raise StorageError(why) from error
                moved.append(run)
    return root.path, moved
