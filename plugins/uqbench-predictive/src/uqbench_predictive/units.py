"""``units.csv``: a board's methods on tables like these, each table one observation.

Splits of a table share its rows, so that intervals over seeds are for these tables alone. Here a
table's mean over its splits is one observation: means have Student's interval over tables,
differences are taken table by table, and ranks are what those of all pairs leave open together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from uqbench.contract.board_table import BoardTable
from uqbench.statistics.estimate import estimate
from uqbench.statistics.ranks import Pair, compare, places
from uqbench.statistics.statistic import point

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board

FEWEST = 10
"""Tables from which on a mean over them says something of further ones."""
TABLES = ("table", "table-file")
"""The data sets whose tasks are tables."""
COLUMNS = (
    "method", "role", "tables", "mean", "low", "high", "rank_low", "rank_high", "beyond",
    "beyond_low", "beyond_high",
)  # fmt: skip


class Units(BoardTable):
    """The table ``units.csv`` (:class:`uqbench.contract.board_table.BoardTable`)."""

    def __init__(self, board: Board) -> None:
        self.board = board

    @property
    def applies(self) -> bool:
        """Whether the board is of ten tables or more."""
        tasks = {cell.task.name: cell.task for cell in self.board.plan.cells}
        of_tables = [task for task in tasks.values() if task.dataset in TABLES]
        return len(tasks) == len(of_tables) >= FEWEST

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row a method, the best first: its mean, its ranks, and what it is beyond the control.

        The control is the best trivial row; ``beyond`` is the mean of the tables' differences, with
        an interval that holds together with those of all pairs.
        """
        roles = self.board.plan.roles
        scores = {
            name: values.mean(0)[:, None]
            for name, values in self.board.matrices.items()
            if len(values.T) >= FEWEST
        }
        trivial = [name for name in scores if roles[name] == "trivial"]
        control = max(trivial, key=lambda name: float(scores[name].mean()), default=None)
        apart = [n for n in scores if roles[n] not in ("method", "trivial")]
        pairs = compare(scores, "mean", paired="seeds", baselines=trivial, unranked=apart)
        methods = {name: of for name, of in scores.items() if roles[name] == "method"}
        ranked = places(methods, pairs, "mean") if self.board.ranks else {}
        rows = []
        for name, values in sorted(scores.items(), key=lambda one: -point("mean", one[1])):
            mean, place = estimate("mean", values), ranked.get(name)
            more = _beyond(name, control, pairs)
            ends = (None, None) if place is None else (place.low, place.high)
            own = (name, roles[name], len(values), mean.value, mean.low, mean.high, *ends, *more)
            rows.append([f"{x:.6g}" if isinstance(x, float) else x for x in own])
        return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)

    @property
    def section(self) -> str:
        """The ranks in Markdown."""
        frame = self.frame
        if frame.empty:
            return ""
        lines = [
            "## Tables as units",
            "",
            f"On tables like these {frame['tables'].iloc[0]}, each one observation: intervals and "
            f"ranks are for further tables, those above for these alone. `beyond`: more than the "
            f"best row that is not trained, table by table. Intervals of `beyond` hold together "
            f"with those of all pairs; those of rows without ranks hold alone.",
            "",
            "| rank | method | mean | beyond |",
            "| --- | --- | --- | --- |",
        ]
        for row in frame.to_dict("records"):
            ranks = "" if row["rank_low"] is None else _span(row["rank_low"], row["rank_high"])
            ends = [_interval(row, name, *of) for name, *of in _SHOWN]
            lines.append(f"| {ranks} | `{row['method']}` | {' | '.join(ends)} |")
        return "\n".join(lines)


_SHOWN = (("mean", "low", "high"), ("beyond", "beyond_low", "beyond_high"))


def _beyond(
    name: str, control: str | None, pairs: Sequence[Pair]
) -> tuple[float | None, float | None, float | None]:
    """The difference to the control, and its ends."""
    for pair in pairs:
        of = pair.difference
        if control in (pair.first, pair.second) and name in (pair.first, pair.second):
            if pair.first == name != control:
                return of.value, of.low, of.high
            if pair.second == name != control:
                flipped = [None if x is None else -x for x in (of.value, of.high, of.low)]
                return flipped[0], flipped[1], flipped[2]
    return None, None, None


def _span(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}–{high}"


def _interval(row: dict[str, object], *names: str) -> str:
    value, low, high = (row[name] for name in names)
    if value is None:
        return "–"
    text = f"{float(str(value)):.3f}"
    return text if low is None else f"{text} [{float(str(low)):.3f}, {float(str(high)):.3f}]"
