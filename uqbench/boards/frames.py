"""Tables of a board as pandas frames: numbers are those of the CSV, text stays text."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    import pandas as pd

NO_VALUE = ("", "none", "nan")
"""Cells without a number."""
TEXT = frozenset(
    {
        "suite", "board", "task", "method", "role", "beats_trivial", "stored_in", "local",
        "submitted", "status", "device", "run", "results_digest", "digest", "content", "first",
        "second", "equivalent", "tied", "claim", "verdict", "reason", "budget", "needs_budget",
        "kind", "comparison",
        "group", "statistic", "comparison_is", "readings", "calibrated_on", "sentence", "source",
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
    import pandas as pd

    try:
        header, *rows = [row for row in csv.reader(io.StringIO(text)) if row] or [[]]
        if any(len(row) != len(header) for row in rows):  # pandas fills short ones
            raise ValueError("its rows differ in length")
        kinds: dict[str, type] = dict.fromkeys(TEXT & {*header}, object)
        if not rows:
            return pd.DataFrame(columns=header).astype(dict.fromkeys(header, float) | kinds)
        return pd.read_csv(
            io.StringIO(text),
            dtype=kinds,
            na_values={name: NO_VALUE for name in header if name not in TEXT},
            keep_default_na=False,
            float_precision="round_trip",
        )
    except (csv.Error, ValueError) as error:
        raise UqbenchError(f"{where} is damaged, because {error}") from None
