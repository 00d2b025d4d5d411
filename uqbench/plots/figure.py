"""A figure: a chart, the numbers that it shows, and what it says in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
        """What a notebook shows."""
        from uqbench.plots.render import svg

        return svg(self)
