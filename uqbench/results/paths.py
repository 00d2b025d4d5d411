"""All paths made from names of suites, budgets, tasks and methods are made here."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from uqbench.errors import UqbenchError
from uqbench.results.files import is_linked

LONGEST = 255
"""Most bytes of a name on common file systems."""


def below(root: Path, *names: str) -> Path:
    """The path of a file or folder some names below a root.

    Raises:
        UqbenchError: a name is not that of a single file or folder.
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
    """A run's folder below the store's root.

    Raises:
        UqbenchError: it would be elsewhere.
    """
    return below(root, *str(folder).split("/"))


def board_folder(root: Path, suite: str, board: str) -> Path:
    """A leaderboard's folder below that of all leaderboards; links are not followed.

    Raises:
        UqbenchError: it would be elsewhere.
    """
    folder = below(root, suite, board)
    if is_linked(root, folder):
        raise UqbenchError(
            f"{folder} is a symbolic link, or lies behind one: a leaderboard is not written "
            f"through links below {root}; remove the link, or pass its target as --to."
        )
    return folder
