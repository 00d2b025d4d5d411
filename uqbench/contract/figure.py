"""Figures of a suite's boards, as plugins return them.

A :class:`Figure` is a chart, the numbers that it shows, and what it says in words; it is drawn from
the tables of a ``uqbench.boards.stored.StoredBoard``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from uqbench.contract.errors import UqbenchError

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
        text: what is shown, and what it comes to: its caption.
        data: the numbers that are drawn, one row a mark.
        chart: an Altair chart without configuration of its own.
        numbers: what it shows in words, which the text alternative says after the text.
        stretched: the chart with panels so many times as wide; None where nothing else in it
            depends on that.
    """

    draw: ClassVar[Callable[[Figure], str]]
    """Draws a figure as SVG; the package sets it, since the contract knows no renderer."""

    name: str
    title: str
    text: str
    data: pd.DataFrame = field(repr=False)
    chart: Any = field(repr=False)
    numbers: str = ""
    stretched: Callable[[float], Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len(self.name) > 60 or not NAME.fullmatch(self.name):
            raise ValueError(
                f"name: expected lower-case letters, digits and hyphens, at most 60, got "
                f"{self.name!r}"
            )

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows."""
        return type(self).draw(self)
