"""Rows of a board's files, numbers as people read them, and the files as pandas frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from uqbench.results.files import reading
from uqbench.statistics.estimate import Estimate
from uqbench.statistics.ranks import Pair

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str]
NO_VALUE = ("", "none", "nan")
"""Cells without a number."""
TEXT = frozenset(
    {
        "suite", "board", "task", "method", "role", "beats_trivial", "stored_in", "local",
        "self_run", "submitted", "imported", "status", "device", "run", "results_digest", "digest",
        "content", "first", "second", "equivalent", "tied", "may_be_first", "how", "claim",
        "verdict", "reason", "tuned", "budget", "needs_budget", "kind", "comparison", "group",
        "statistic", "comparison_is", "readings", "calibrated_on", "sentence", "source",
    }
)  # fmt: skip
"""Columns that are text, whatever is in them: a method may be called ``1``."""

LABELS = {"iqm": "IQM", "optimality_gap": "optimality gap", "worst_quarter": "CVaR 0.25"}

PAIR_COLUMNS = (
    "first", "second", "improvement", "improvement_low", "improvement_high", "difference",
    "difference_low", "difference_high", "p", "p_adjusted",
)  # fmt: skip

RANK_COLUMNS = ("how", "task", "method", "rank", "rank_low", "rank_high", "may_be_first")


def pair_row(pair: Pair) -> Row:
    """A line of ``pairs.csv``: the first method over, or minus, the second."""
    return {
        "first": pair.first,
        "second": pair.second,
        **cells("improvement", pair.improvement),
        **cells("difference", pair.difference),
        "p": number(pair.p),
        "p_adjusted": number(pair.adjusted),
    }


def cells(name: str, estimate: Estimate | None) -> Row:
    """Three columns; empty ones where there is no estimate or no interval."""
    given = (
        (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
    )
    columns = (name, f"{name}_low", f"{name}_high")
    return {column: number(value) for column, value in zip(columns, given, strict=True)}


def number(value: float | None) -> str:
    """Six digits, or an empty cell."""
    return "" if value is None else f"{value:.6g}"


def csv_text(rows: Sequence[Mapping[str, object]], columns: Sequence[str] = ()) -> str:
    """A CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def frame(text: str, where: str) -> pd.DataFrame:
    """A CSV file as a frame; empty cells of columns of numbers are NaN.

    Args:
        text: of the file.
        where: what errors call it.

    Raises:
        UqbenchError: rows differ in length.
    """
    import pandas as pd

    with reading(where, csv.Error, ValueError):
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


def label(statistic: str) -> str:
    """A statistic's name for people."""
    return LABELS.get(statistic, statistic)
