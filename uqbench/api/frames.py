"""Tables of a board as pandas frames: numbers are those of the CSV, text stays text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pandas as pd

from uqbench.errors import UqbenchError

NO_VALUE = ("", "none")
"""Cells without a number."""
TEXT = frozenset(
    {
        "suite", "board", "task", "method", "role", "beats_trivial", "stored_in", "local", "pareto",
        "status", "device", "run", "results_digest", "digest", "content", "first", "second",
        "claim", "verdict", "reason", "budget", "needs_budget", "kind", "comparison", "group",
        "statistic", "comparison_is", "readings", "calibrated_on", "sentence", "source",
    }
)  # fmt: skip
"""Columns that are text, whatever is in them: a method may be called ``1``."""


def frame(text: str, where: str) -> pd.DataFrame:
    """A CSV file as a frame; empty cells of columns of numbers are NaN.

    Args:
        text: of the file.
        where: what errors call it.

    Raises:
        UqbenchError: rows differ in length.
    """
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise UqbenchError(f"{where} is damaged, because {error}") from None
    if not rows:
        return pd.DataFrame()
    header, *body = rows
    if any(len(row) != len(header) for row in body):
        raise UqbenchError(f"{where} is damaged, because its rows differ in length")
    columns = zip(*body, strict=True) if body else [()] * len(header)
    return pd.DataFrame(
        {name: _column(name, cells) for name, cells in zip(header, columns, strict=True)}
    )


def _column(name: str, cells: Sequence[str]) -> pd.Series:
    if name in TEXT:
        return pd.Series(list(cells), dtype=object)
    try:
        numbers = [float("nan") if cell in NO_VALUE else float(cell) for cell in cells]
    except ValueError:
        return pd.Series(list(cells), dtype=object)
    if cells and all(cell.lstrip("-").isdecimal() for cell in cells):
        return pd.Series([int(cell) for cell in cells])
    return pd.Series(numbers, dtype=float)
