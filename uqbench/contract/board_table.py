"""Tables of a board that plugins compute from its scores, as ``claims.csv`` is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd


class BoardTable(Protocol):
    """A table of a board, stored as ``NAME.csv`` beside the others and checked as they are.

    Made as ``factory(board)`` from a ``uqbench.boards.leaderboard.Board``; ``NAME`` is the spec's.
    With an attribute ``applies`` that is false, the board has none.
    """

    kept: bool
    """Whether it is made with the board and then kept, as one that takes long to compute."""

    @property
    def frame(self) -> pd.DataFrame:
        """The table, a function of the board's plan and scores; without columns there is none."""

    @property
    def section(self) -> str:
        """The section of the board's page, in Markdown; empty where there is nothing to show."""

    @staticmethod
    def entries(stored: Any) -> Sequence[Any]:
        """Rows of a ``uqbench.boards.stored.StoredBoard`` that the index of boards counts.

        Raises:
            UqbenchError: the stored table is damaged.
        """

    @staticmethod
    def index(entries: Iterable[Any]) -> str:
        """The section of the index, in Markdown, from the entries of all boards."""
