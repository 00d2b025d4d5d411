"""Every path that is made from names of suites, budgets, tasks and methods is made here."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from uqbench.errors import UqbenchError
from uqbench.results.files import is_linked

LONGEST = 255
"""Bytes of a name, at most, on the file systems of today."""


def below(root: Path, *names: str) -> Path:
    """The path of a file or folder some names below a root.

    Raises:
        UqbenchError: one of them is not the name of a single file or folder.
    """
    for name in names:
        if (
            not name
            or name.startswith(".")
            or set(name) & {"/", "\\", "\0"}
            or len(name.encode("utf-8", "replace")) > LONGEST
        ):
            raise UqbenchError(
                f"{name!r} cannot be the name of a folder below {root}; expected a name of at most "
                f"{LONGEST} bytes without slashes, which does not begin with a dot."
            )
    return root.joinpath(*names)


def run_folder(root: Path, folder: PurePosixPath | str) -> Path:
    """Where a run is kept: its folder below the store's root.

    Raises:
        UqbenchError: it would be somewhere else.
    """
    return below(root, *str(folder).split("/"))


def board_folder(root: Path, suite: str, board: str) -> Path:
    """Where a leaderboard is kept, below the folder of leaderboards; links are not followed.

    Raises:
        UqbenchError: it would be somewhere else.
    """
    folder = below(root, suite, board)
    if is_linked(root, folder):
        raise UqbenchError(
            f"{folder} is a symbolic link, or lies behind one: a leaderboard is not written "
            f"through links below {root}; remove the link, or give its target with --to."
        )
    return folder
