"""Tables on a console: columns side by side, whose text no terminal obeys."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from uqbench.contract.wording import visible

PIPE_WIDTH = 160
"""The width of a file or a pipe, which has no width to keep to."""
PADDING = 2


class Shown(NamedTuple):
    """A column as it is printed, its header on lines of their own."""

    header: str
    cells: Sequence[str]
    left: bool = False
    wraps: bool = False

    @property
    def width(self) -> int:
        """The width of its widest line, with the space behind it."""
        return max(map(len, (*self.header.split("\n"), *self.cells))) + PADDING


def stdout() -> Console:
    """Stdout, a pipe being wide."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def table(columns: Sequence[Shown], vertical: Literal["top", "bottom"] = "bottom") -> Table:
    """Columns side by side; what comes from elsewhere is made visible."""
    table = Table(box=None, padding=(0, PADDING, 0, 0), pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column.header,
            justify="left" if column.left else "right",
            no_wrap=not column.wraps,
            vertical=vertical,
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table
