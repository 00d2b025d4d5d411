"""A board's columns for people, in three groups: return, risk, uncertainty. They are not summed."""

from collections.abc import Sequence

from uqbench.boards import columns
from uqbench.boards.columns import GROUPS, on_one_scale
from uqbench.boards.leaderboard import Board
from uqbench.boards.tables import label
from uqbench.pages.board_view import NONE, BoardView, Column, Line, number
from uqbench.uncertainty.scores import scoring_rule, sibling

MOST = 6
"""Columns of a group for people; ``leaderboard.csv`` has all, with intervals."""


def group_columns(board: Board, view: BoardView) -> list[Column]:
    """The columns of each group, the more important ones first; none where all are of one group.

    First is the score itself, then scores at query states, then what is on one scale. Statistics
    that rank methods as another column does are left out. Risk ends with the worst quarter of the
    runs.
    """
    primary = columns.Column(board.primary, board.ranking, normalized=True)
    known = [c for c in (primary, *board.columns) if c.metric.about is not None]
    if len({column.metric.about for column in known}) < 2:
        return []
    statistics = {column.metric.statistic for column in known}
    hidden = [
        column
        for column in known
        if (same := scoring_rule(column.metric).ranks_as) is not None
        and sibling(column.metric, same) in statistics
    ]
    known = [column for column in known if column is primary or column not in hidden]
    chosen = []
    for group in GROUPS:
        own = sorted((c for c in known if c.metric.about == group), key=lambda c: _order(board, c))
        for column in own[:MOST]:
            name = board.ranking if column is primary else column.name
            texts = tuple(_text(line, name) for line in view.lines)
            chosen.append(Column(name, _header(column), texts, group))
        if group == "risk":
            name = "worst_quarter"
            worst = (line.estimates.get(name) for line in view.lines)
            texts = tuple(NONE if e is None else number(e.value) for e in worst)
            chosen.append(Column(name, f"{label(name)} of runs", texts, group))
    return chosen


def groups_note(shown: Sequence[Column]) -> str:
    """What must be known to read the columns of groups."""
    parts = ["Point estimates; leaderboard.csv has all columns, with intervals."]
    meant = {
        "↓": "↓: less is better.",
        "proper": "proper: 0 a constant forecast of the task, 1 the truth.",
    }
    headers = "\n".join(column.header for column in shown)
    parts += [sentence for words, sentence in meant.items() if words in headers]
    return " ".join(parts)


def _order(board: Board, column: columns.Column) -> tuple[bool, ...]:
    metric = column.metric
    return (
        metric != board.primary,
        metric.kind != "queries",
        not (column.normalized or on_one_scale(metric)),
    )


def _header(column: columns.Column) -> str:
    lower = not column.normalized and column.metric.direction == "min"
    return column.metric.name.replace("_", " ") + " ↓" * lower


def _text(line: Line, name: str) -> str:
    one = line.estimates.get(name)
    if one is None:
        return NONE
    value = one.value
    # three digits behind the point, or three in all where that says more
    return f"{value:.3g}" if 0 < abs(value) < 0.01 or abs(value) >= 1000 else number(value)
