"""Tables of a board that plugins compute from its scores, as ``claims.csv`` is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd


class BoardTable(Protocol):
    """A table of a board, stored as ``NAME.csv`` beside the others and checked as they are.

    Made as ``factory(board)`` from a ``uqbench.boards.leaderboard.Board``; ``NAME`` is the spec's.
    To be derived from: all but ``frame`` has a default.
    """

    kept: bool = False
    """Whether it is made with the board and then kept, as one that takes long to compute."""

    @property
    def applies(self) -> bool:
        """Whether the board has the table."""
        return True

    @property
    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """The table, a function of the board's plan and scores; without columns there is none."""

    @property
    def section(self) -> str:
        """The section of the board's page, in Markdown; empty where there is nothing to show."""
        return ""

    @staticmethod
    def sentence(_stored: str) -> str:
        """Sentences below the ranks, from the text of a table that is kept; empty without any.

        Raises:
            UqbenchError: the stored table is damaged.
        """
        return ""

    @staticmethod
    def entries(_stored: Any) -> Sequence[Any]:
        """Rows of a ``uqbench.boards.stored.StoredBoard`` that the index of boards counts.

        Raises:
            UqbenchError: the stored table is damaged.
        """
        return ()

    @staticmethod
    def index(_entries: Iterable[Any]) -> str:
        """The section of the index, in Markdown, from the entries of all boards."""
        return ""
