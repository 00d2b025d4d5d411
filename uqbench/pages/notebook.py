"""Results as a notebook shows them: one small table a board.

Names come from plugins and results from elsewhere: all text is escaped.
"""

from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd

from uqbench.contract.wording import count
from uqbench.pages.board_view import MARK, BoardView

MOST_BOARDS = 5
"""Shown in full; of others only the titles."""


def html(
    origin: str, states: Mapping[str, int], boards: Sequence[BoardView], told: Sequence[str] = ()
) -> str:
    """Results in HTML.

    Args:
        origin: where they are.
        states: how many runs are in each.
        boards: of the results.
        told: sentences below them.
    """
    counts = ", ".join(f"{number} {state}" for state, number in states.items())
    parts = [f"<p><b>uqbench.Results</b> of {escape(origin)}: {escape(counts)}</p>"]
    parts += map(board_html, boards[:MOST_BOARDS])
    others = [board.title for board in boards[MOST_BOARDS:]]
    if any(MARK in part for part in parts):
        parts.append(f"<p>{MARK} does not beat the best of the trivial rows</p>")
    if others:
        parts.append(f"<p>{count(len(others), 'more board')}: {escape(', '.join(others))}</p>")
    return "\n".join([*parts, *(f"<p>{escape(sentence)}</p>" for sentence in told)])


def board_html(view: BoardView) -> str:
    """A board's ranks, methods and score as a table."""
    known = ("rank", "method", view.ranking, "calibration", "runs")
    columns = [view.column(name) for name in view.shown() if name in known]
    heads = (c.header + " [95 %]" * (c.name == view.ranking) for c in columns)
    table = pd.DataFrame(dict(zip(heads, (c.texts for c in columns), strict=True)))
    with pd.option_context("display.max_colwidth", None):
        text = table.to_html(index=False, escape=True, border=0)
    return f"<p>{escape(view.title)}</p>{text}"
