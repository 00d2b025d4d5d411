"""What a plugin's figures are made of, and what they are.

A :class:`Figure` is a chart, the numbers that it shows, and what it says in words; it is drawn from
the tables of a stored board, :class:`BoardTables`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    import pandas as pd

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class NotDrawableError(UqbenchError):
    """A board lacks what a figure shows; the message says what."""


@dataclass(frozen=True)
class Figure:
    """A figure of a board.

    Attributes:
        name: of its files: lower-case letters, digits and hyphens, at most 60.
        title: in a few words.
        text: the text alternative: what is shown, and what it comes to.
        data: the numbers that are drawn, one row a mark.
        chart: an Altair chart without configuration of its own.
    """

    name: str
    title: str
    text: str
    data: pd.DataFrame
    chart: Any

    def __post_init__(self) -> None:
        if len(self.name) > 60 or not NAME.fullmatch(self.name):
            raise ValueError(
                f"name: expected lower-case letters, digits and hyphens, at most 60, got "
                f"{self.name!r}"
            )

    def _repr_svg_(self) -> str:
        """What a notebook shows; the library that draws is only imported for it."""
        text: str = import_module("uqbench.plots.render").svg(self)
        return text


class InstalledSuite(Protocol):
    """What figures ask of a suite as it is installed."""

    @property
    def name(self) -> str:
        """Of the suite."""

    @property
    def claims(self) -> Sequence[Any]:
        """Its claims: ``id``, ``settings`` (the keys of their kind), …."""


class BoardTables(Protocol):
    """A stored board, its tables as frames.

    A frame that the board lacks raises :class:`NotDrawableError`, so that a figure of it is left
    out. ``docs/results.md`` explains the columns.
    """

    @property
    def folder(self) -> Path:
        """Where it is stored."""

    @property
    def suite(self) -> str:
        """Name of the suite."""

    @property
    def name(self) -> str:
        """Name of the board: the budget, or a selection of its runs."""

    @property
    def title(self) -> str:
        """Suite and name."""

    @property
    def ranks(self) -> bool:
        """Whether the budget can rank methods."""

    @property
    def ranking(self) -> str:
        """The statistic that the board is ranked by."""

    @property
    def primary(self) -> Mapping[str, Any]:
        """The metric that the board is scored by: ``name``, ``summary``, …."""

    @property
    def configs(self) -> Mapping[str, Mapping[str, Any]]:
        """By ``task/method``: ``agent`` or ``estimator``, ``version``, ``config``."""

    @property
    def finding(self) -> str:
        """What the board comes to, in a sentence or two."""

    @property
    def methods(self) -> list[str]:
        """The rows' names, the best first where the budget ranks."""

    @property
    def leaderboard(self) -> pd.DataFrame:
        """A row a method, the best first where the budget ranks."""

    @property
    def pairs(self) -> pd.DataFrame:
        """A row a pair of methods."""

    @property
    def claims(self) -> pd.DataFrame:
        """A row a comparison of a claim."""

    @property
    def tasks(self) -> pd.DataFrame:
        """A row a method and task."""

    @property
    def cost(self) -> pd.DataFrame:
        """A row a method and task."""

    @property
    def scores(self) -> pd.DataFrame:
        """A row a run."""

    @property
    def curves(self) -> pd.DataFrame:
        """``task``, ``method``, ``seed``, ``step``, ``value``, ``of``: by hundredths."""

    @property
    def uncertainty(self) -> pd.DataFrame:
        """``task``, ``method``, ``curve``, ``x``, ``y``, ``low``, ``high``, ``runs``."""

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
