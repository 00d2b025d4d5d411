"""Rows of a board's files, and numbers as people read them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from uqbench.statistics.estimate import Estimate
from uqbench.statistics.ranks import Pair

Row = dict[str, str]

LABELS = {
    "iqm": "IQM",
    "optimality_gap": "optimality gap",
    "worst_quarter": "worst quarter",
}

PAIR_COLUMNS = (
    "first", "second", "improvement", "improvement_low", "improvement_high", "difference",
    "difference_low", "difference_high", "p", "p_adjusted", "equivalent",
)  # fmt: skip


def pair_row(pair: Pair) -> Row:
    """A line of ``pairs.csv``: the first method over, or minus, the second."""
    return {
        "first": pair.first,
        "second": pair.second,
        **cells("improvement", pair.improvement),
        **cells("difference", pair.difference),
        "p": number(pair.p),
        "p_adjusted": number(pair.adjusted),
        "equivalent": {True: "yes", False: "no", None: ""}[pair.equivalent],
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


def label(statistic: str) -> str:
    """A statistic's name for people."""
    return LABELS.get(statistic, statistic)
