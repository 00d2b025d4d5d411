"""The frames of a board: made of rows, written as CSV files, read back from these.

A frame's numbers have the six digits that its file has, so that what a board computes, stores and
shows is one value.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uqbench.results.files import reading
from uqbench.statistics.estimate import Estimate
from uqbench.statistics.ranks import Pair, Place

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str | float | None]
NO_VALUE = ("", "none", "nan")
"""Cells without a number."""
TEXT = frozenset({
    "suite", "board", "task", "method", "role", "beats_trivial", "stored_in", "local",
    "self_run", "submitted", "imported", "status", "device", "run", "results_digest", "digest",
    "content", "first", "second", "equivalent", "tied", "may_be_first", "how", "claim",
    "verdict", "reason", "tuned", "budget", "needs_budget", "kind", "comparison", "group",
    "statistic", "calibration", "comparison_is", "readings", "calibrated_on", "sentence",
    "source",
})  # fmt: skip
"""Columns that are text, whatever is in them: a method may be called ``1``."""

IMPROVEMENT = "improvement_over_"
"""Begins the name of the column of the probability of improvement over the baseline."""


@dataclass(frozen=True)
class Named:
    """A column of ``leaderboard.csv`` as people meet it.

    Attributes:
        header: for people.
        statistic: whether it is one of the score.
        usual: whether pages, terminals and reports have it unasked, where the board has it.
    """

    header: str
    statistic: bool = False
    usual: bool = False


COLUMNS = {
    "calibration": Named("intervals", usual=True),
    "iqm": Named("IQM", statistic=True),
    "mean": Named("mean", statistic=True),
    "median": Named("median", statistic=True),
    "worst_quarter": Named("worst quarter of seeds", statistic=True),
    "optimality_gap": Named("optimality gap", statistic=True),
    IMPROVEMENT: Named("P(better than {})", usual=True),
    "tuning_gain": Named("gain by tuning", usual=True),
    "sensitivity": Named("sensitivity", usual=True),
    "fail_share": Named("fail share", usual=True),
}
"""The columns that are not of a suite's further metrics, in the order of tables for people."""
STATISTICS = tuple(name for name, of in COLUMNS.items() if of.statistic)
POINTS = tuple(name for name in STATISTICS if name != "mean")
"""Those that have an interval on the few boards that rank by them alone."""

PAIR_COLUMNS = (
    "first", "second", "improvement", "improvement_low", "improvement_high", "difference",
    "difference_low", "difference_high", "p", "p_adjusted",
)  # fmt: skip

RANKS = ("rank", "rank_low", "rank_high", "may_be_first")
PLACE = "_rank"
"""Ends the name of the column of ranks by a further metric, whose interval is the rank set."""
RANK_COLUMNS = ("how", "task", "method", *RANKS)


def place_cells(place: Place | None) -> Row:
    """The cells of a place among the ranks; empty ones where there is none."""
    if place is None:
        return {**dict.fromkeys(RANKS[:3]), RANKS[3]: ""}
    first = "yes" if place.low == 1 else "no"
    return dict(zip(RANKS, (place.rank, place.low, place.high, first), strict=True))


def placed(place: Place | None) -> Estimate | None:
    """A place as an estimate: a rank and the ends of its set."""
    return None if place is None else Estimate(place.rank, place.low, place.high)


def pair_row(pair: Pair) -> Row:
    """A line of ``pairs.csv``: the first method over, or minus, the second."""
    names: Row = {"first": pair.first, "second": pair.second}
    own = cells("improvement", pair.improvement) | cells("difference", pair.difference)
    return names | own | {"p": number(pair.p), "p_adjusted": number(pair.adjusted)}


def cells(name: str, estimate: Estimate | None) -> Row:
    """Three columns; empty ones where there is no estimate or no interval."""
    ends = ("value", ""), ("low", "_low"), ("high", "_high")
    return {f"{name}{end}": number(getattr(estimate, of, None)) for of, end in ends}


def number(value: float | None) -> float | None:
    """A number of six digits."""
    return None if value is None else float(f"{value:.6g}")


def made(rows: Iterable[Mapping[str, object]], columns: Sequence[str] = ()) -> pd.DataFrame:
    """A frame of rows; empty cells of columns of numbers are NaN."""
    import pandas as pd

    table = pd.DataFrame(list(rows), columns=list(columns) or None)
    kinds = {c: float for c in table if c not in TEXT and table[c].dtype == object}
    empty = dict.fromkeys((c for c in table if c in TEXT), "")
    return table.fillna(empty).astype(kinds).copy()  # in one block a kind


def csv_text(table: pd.DataFrame) -> str:
    """A frame as a CSV file."""
    text: str = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return text


def read(text: str, where: str) -> pd.DataFrame:
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
        none = {name: NO_VALUE for name in header if name not in TEXT}
        exact: dict[str, Any] = {"keep_default_na": False, "float_precision": "round_trip"}
        return pd.read_csv(io.StringIO(text), dtype=kinds, na_values=none, **exact)


def usual(columns: Sequence[str]) -> list[str]:
    """The columns, of those of a board, that tables for people have unasked, in their order."""
    known = [name for name, of in COLUMNS.items() if of.usual]
    return [column for name in known for column in columns if _key(column) == name]


def label(column: str) -> str:
    """A column's name for people."""
    named = COLUMNS.get(_key(column))
    return column if named is None else named.header.format(column.removeprefix(IMPROVEMENT))


def _key(column: str) -> str:
    return IMPROVEMENT if column.startswith(IMPROVEMENT) else column
