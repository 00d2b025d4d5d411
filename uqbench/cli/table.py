"""Leaderboards for the terminal, readable at 80 columns: columns are left out, names never cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table

from uqbench.scoring.coverage import coverage_note
from uqbench.scoring.leaderboard import Board
from uqbench.scoring.remarks import remark, remarks_note
from uqbench.scoring.standings import BoardRow, shown_statistics
from uqbench.scoring.tables import interval, label
from uqbench.visible import visible

PIPE_WIDTH = 160
"""Of a file or a pipe, which has no width to keep to."""
_PADDING = 2


@dataclass(frozen=True)
class _Column:
    """A column and its cells; the first two of a table are always there."""

    header: str
    cells: tuple[str, ...]
    left: bool = False

    @property
    def width(self) -> int:
        return max(map(len, (*self.header.split("\n"), *self.cells)))


def print_board(board: Board) -> None:
    """Print a board's table to stdout, with what must be known to read it."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE_WIDTH)
    show_board(board, console)


def show_board(board: Board, console: Console) -> None:
    """Print a board's table to a console, in its width."""
    plan = board.plan
    shown, left_out = _fitting(_columns(board, board.best_first), console.width)
    console.print(visible(f"{plan.suite.name} · {plan.name}"), style="italic", highlight=False)
    table = Table(box=None, padding=(0, _PADDING, 0, 0), pad_edge=False, header_style="bold")
    for column in shown:
        justify: Literal["left", "right"] = "left" if column.left else "right"
        table.add_column(column.header, justify=justify, no_wrap=True, vertical="bottom")
    for row in zip(*(column.cells for column in shown), strict=True):
        table.add_row(*map(visible, row))
    console.print(table)
    for note in notes(board):
        console.print(visible(note), highlight=False, markup=False)
    if left_out:
        names = ", ".join(column.header.replace("\n", " ") for column in left_out)
        console.print(visible(f"Left out at this width: {names}."), highlight=False, markup=False)


def notes(board: Board) -> list[str]:
    """What a reader of the table must know."""
    plan, metric = board.plan, board.primary
    normalization = plan.suite.normalization[metric.normalized_as or metric.name]
    lines = [
        f"Score: {metric.name} ({metric.summary}); 0 = {normalization.zero}, "
        f"1 = {normalization.one}.",
        f"Ranked by {label(board.ranking)}. In brackets: 95 % intervals over seeds.",
    ]
    if board.places:
        lines[-1] += (
            " Ranks that the runs leave open are sets such as 1–3; together they hold with 95 %."
        )
    else:
        lines.append(f"The budget {plan.budget_name!r} is too short to rank methods: no order.")
    lines += filter(None, [remarks_note(board), coverage_note(board)])
    without = Counter(
        "finished without a value" if score.status == "finished" else score.status
        for score in board.scores
        if score.score is None
    )
    if without:
        states = ", ".join(f"{number} {state}" for state, number in sorted(without.items()))
        lines.append(
            f"{without.total()} of {len(board.scores)} planned runs have no score ({states}): "
            f"no aggregate is shown where one is missing."
        )
    mixed = [package for package, hashes in board.content.items() if len(hashes) > 1]
    if mixed:
        lines.append(f"Mixes runs of different contents of {', '.join(mixed)}.")
    return lines


def _columns(board: Board, lines: list[BoardRow]) -> list[_Column]:
    """All columns, the more important ones first."""
    baseline = board.plan.suite.baseline
    ranking, *others = shown_statistics(board.plan)

    def statistic(name: str) -> _Column:
        return _Column(label(name), tuple(interval(line.primary.get(name)) for line in lines))

    columns = []
    if board.places:
        ranks = tuple(str(board.places.get(line.method, "")) for line in lines)
        columns.append(_Column("rank", ranks))
    names = tuple(line.method + remark(board, line.method) for line in lines)
    columns.append(_Column("method", names, left=True))
    columns.append(statistic(ranking))
    if any(line.method != baseline for line in lines):
        cells = ("" if x.method == baseline else interval(x.improvement) for x in lines)
        columns.append(_Column(f"P(better than\n{baseline})", tuple(cells)))
    if board.primary.fails_beyond is not None:
        columns.append(_Column("fail share", tuple(interval(x.fail_share) for x in lines)))
    columns.append(_Column("runs", tuple(f"{x.scored}/{x.planned}" for x in lines)))
    first = [name for name in others if name == "worst_quarter"]
    return columns + [statistic(n) for n in (*first, *(n for n in others if n not in first))]


def _fitting(columns: list[_Column], width: int) -> tuple[list[_Column], list[_Column]]:
    """The columns that fit, in their order, and those that do not; method and rank always do."""
    shown, left_out, room = [], [], width
    for column in columns:
        needed = column.width + _PADDING
        if needed - _PADDING <= room or column.header in ("rank", "method"):
            shown.append(column)
            room -= needed
        else:
            left_out.append(column)
    return shown, left_out
