"""The stored leaderboards of uqbench as a package: ``uqbench.load(uqbench_boards.folder())``."""

from __future__ import annotations

from pathlib import Path

__all__ = ["folder"]


def folder() -> Path:
    """The folder of leaderboards: the wheel's, or that of the clone it is installed from.

    Raises:
        FileNotFoundError: there is neither.
    """
    here = Path(__file__).resolve()
    places = [here.parent / "leaderboards", here.parents[4] / "leaderboards"]
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(f"no leaderboards at {' or '.join(map(str, places))}")


def main() -> None:
    """Print the folder, for ``--beside "$(uqbench-boards)"``."""
    print(folder())
