"""A board's columns for people, in three groups: return, risk, uncertainty. They are not summed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uqbench.boards.columns import GROUPS, Column, on_one_scale
from uqbench.boards.leaderboard import Board
from uqbench.boards.standings import BoardRow
from uqbench.boards.tables import label
from uqbench.suites.metrics import Group
from uqbench.uncertainty.scores import scoring_rule, sibling

MOST = 6
"""Columns of a group for people; ``leaderboard.csv`` has all, with intervals."""
NONE = "–"


@dataclass(frozen=True)
class GroupColumn:
    """A column: point estimates, a cell a row."""

    group: Group
    header: str
    cells: tuple[str, ...]


def group_columns(board: Board, lines: Sequence[BoardRow]) -> list[GroupColumn]:
    """The columns of each group, the more important ones first; none where all are of one group.

    First are those that the suite's Pareto front is of, then the score itself, then scores at query
    states, then what is on one scale. A coverage stands with its ceiling; statistics that rank
    methods as another column does are left out. Risk ends with the worst quarter of the runs.
    """
    primary = Column(board.primary, board.ranking, normalized=True)
    known = [c for c in (primary, *board.columns) if c.metric.about is not None]
    if len({column.metric.about for column in known}) < 2:
        return []
    ceilings = {
        sibling(column.metric, of): column.metric.name
        for column in known
        if (of := scoring_rule(column.metric).ceiling_of) is not None
    }
    statistics = {column.metric.statistic for column in known}
    known = [
        column
        for column in known
        if column.metric == board.primary
        or (
            column.metric.name not in ceilings.values()
            and (
                (same := scoring_rule(column.metric).ranks_as) is None
                or sibling(column.metric, same) not in statistics
            )
        )
    ]
    found = []
    for group in GROUPS:
        own = sorted((c for c in known if c.metric.about == group), key=lambda c: _order(board, c))
        for column in own[:MOST]:
            ceiling = ceilings.get(column.metric.statistic)
            cells = tuple(_cell(board, line, column, ceiling) for line in lines)
            found.append(GroupColumn(group, _header(column, ceiling), cells))
        if group == "risk":
            worst = (line.primary.get("worst_quarter") for line in lines)
            cells = tuple(NONE if one is None else f"{one.value:.3f}" for one in worst)
            found.append(GroupColumn(group, f"{label('worst_quarter')} of runs", cells))
    return found


def pareto_cells(board: Board, lines: Sequence[BoardRow]) -> list[str] | None:
    """Whether each method is on the Pareto front; None where the suite names none."""
    if not board.plan.suite.pareto:
        return None
    return ["yes" if line.method in board.front else "" for line in lines]


def groups_note(board: Board, found: Sequence[GroupColumn]) -> str:
    """What must be known to read the groups."""
    parts = ["Point estimates; leaderboard.csv has all columns, with intervals."]
    headers = [column.header for column in found]
    if any("↓" in header for header in headers):
        parts.append("↓: less is better.")
    if any("skill" in header for header in headers):
        parts.append("Skills: 0 the best constant uncertainty, 1 perfect knowledge.")
    if any("/ most" in header for header in headers):
        parts.append("/ most: what so few posterior samples can cover.")
    if board.plan.suite.pareto:
        parts.append(
            f"pareto: no other method is as good in all of {', '.join(board.plan.suite.pareto)} "
            f"and better in one."
        )
    return " ".join(parts)


def _order(board: Board, column: Column) -> tuple[bool, ...]:
    metric = column.metric
    return (
        metric.name not in board.plan.suite.pareto,
        metric != board.primary,
        metric.kind != "queries",
        not (column.normalized or on_one_scale(metric)),
    )


def _header(column: Column, ceiling: str | None) -> str:
    lower = not column.normalized and column.metric.direction == "min"
    words = column.metric.name.replace("_", " ")
    return words + " ↓" * lower + " / most" * (ceiling is not None)


def _cell(board: Board, line: BoardRow, column: Column, ceiling: str | None) -> str:
    name = column.metric.name
    one = line.primary.get(board.ranking) if name == board.primary.name else line.others.get(name)
    if one is None:
        return NONE
    text = _short(one.value)
    most = None if ceiling is None else line.others.get(ceiling)
    return text if most is None else f"{text} / {most.value:.2f}"


def _short(value: float) -> str:
    """Three digits behind the point, or three in all where that says more."""
    return f"{value:.3g}" if 0 < abs(value) < 0.01 or abs(value) >= 1000 else f"{value:.3f}"
