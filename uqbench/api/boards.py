"""Boards of runs, written to their folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uqbench.api.session import Session
from uqbench.boards.leaderboard import Board
from uqbench.boards.provenance import MadeWith
from uqbench.boards.stored import board_folder
from uqbench.pages.board_folders import write_board


@dataclass(frozen=True)
class Written:
    """A board, and the folder that it was written to."""

    board: Board
    folder: Path


def written(
    session: Session,
    result: Board,
    to: Path | None = None,
    suffix: str = "",
    made: Sequence[MadeWith] = (),
) -> Written:
    """Write a board; ``made`` is what those of its rows that are stored were made with."""
    folder = board_folder(result.plan, session.boards(to))
    folder = folder.parent.below(folder.name + suffix)
    write_board(result, session.store, folder, session.host, made)
    return Written(result, folder.path)
