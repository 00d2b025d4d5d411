"""Results as a notebook shows them: one small table a board.

Names come from plugins and results from elsewhere: all text is escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from uqbench.amounts import count

if TYPE_CHECKING:
    from uqbench.api.results import Results
    from uqbench.boards.leaderboard import Board
    from uqbench.boards.stored import StoredBoard

MOST_BOARDS = 5
"""Shown in full; of others only the names."""


def html(results: Results) -> str:
    """The results in HTML."""
    runs = results.runs["state"].value_counts()
    states = ", ".join(f"{number} {state}" for state, number in runs.items())
    parts = [f"<p><b>uqbench.Results</b> of {escape(str(results.origin))}: {escape(states)}</p>"]
    parts += [_board(results, tables) for tables in results.boards[:MOST_BOARDS]]
    others = [f"{tables.suite}/{tables.name}" for tables in results.boards[MOST_BOARDS:]]
    if others:
        parts.append(f"<p>{count(len(others), 'more board')}: {escape(', '.join(others))}</p>")
    return "\n".join(parts)


def _board(results: Results, tables: Board | StoredBoard) -> str:
    board = results.board(tables.suite, tables.name)
    statistic = tables.ranking
    ranked = "rank" in board and board["rank"].notna().any()
    if statistic in board:
        board = board.sort_values(statistic, ascending=False, na_position="last", kind="stable")
    heads = [*(["rank"] if ranked else []), "method", f"{statistic} [95 %]", "runs"]
    rows = []
    for _, row in board.iterrows():
        cells = [_rank(row)] if ranked else []
        name = str(row["method"])
        role = str(row.get("role", "method"))
        cells.append(name if role == "method" else f"{name} ({role})")
        cells.append(_interval(row, statistic))
        cells.append(f"{row['runs_scored']:.0f}/{row['runs_planned']:.0f}")
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    caption = f"{escape(tables.suite)} · {escape(tables.name)}"
    return (
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _rank(row: pd.Series) -> str:
    """A rank, or the set of ranks that the runs leave open, such as 1–3."""
    low, high = row.get("rank_low"), row.get("rank_high")
    if _missing(low) or _missing(high):
        return ""
    return f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"


def _interval(row: pd.Series, name: str) -> str:
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_low", "_high"))
    if _missing(value):
        return "–"
    if _missing(low) or _missing(high):
        return f"{value:.3f}"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _missing(value: Any) -> bool:
    return value is None or value == "" or bool(pd.isna(value))
