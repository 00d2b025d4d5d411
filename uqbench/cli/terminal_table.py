"""Leaderboards for the terminal, readable at 80 columns: columns are left out, names never cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from uqbench.boards.coverage import coverage_note
from uqbench.boards.groups import GroupColumn, group_columns, groups_note, pareto_cells
from uqbench.boards.leaderboard import Board
from uqbench.boards.row_notes import remark, remarks_note
from uqbench.boards.standings import BoardRow, shown_statistics
from uqbench.boards.tables import interval, label
from uqbench.visible import visible

PIPE_WIDTH = 160
"""Of a file or a pipe, which has no width to keep to."""
_PADDING = 2
_HEADER_LINES = 3
"""About as many lines a header has, below its group's name."""


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
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print(table)
    for note in notes(board):
        _say(console, note)
    if left_out:
        _say(console, _left_out(column.header for column in left_out))
    show_groups(board, console)


def show_groups(board: Board, console: Console) -> None:
    """Print the columns of return, risk and uncertainty to a console, where a suite has them.

    Of each group in turn the next most important one is shown, as long as it fits.
    """
    lines = board.best_first
    found = group_columns(board, lines)
    if not found:
        return
    methods = _Column("method", tuple(line.method for line in lines), left=True)
    room = console.width - methods.width - _PADDING
    front = pareto_cells(board, lines)
    columns = {id(c): _Column(_wrapped(c.header), c.cells) for c in found}
    if front is not None:
        room -= _Column("pareto", tuple(front)).width + _PADDING
    fitting: set[int] = set()
    left_out = []
    for column in _in_turn(found):
        needed = max(columns[id(column)].width, len(column.group)) + _PADDING
        if needed - _PADDING <= room:
            fitting.add(id(column))
            room -= needed
        else:
            left_out.append(column)
    shown = [column for column in found if id(column) in fitting]
    if not shown:
        _say(console, _left_out(column.header for column in left_out))
        return
    height = max(columns[id(column)].header.count("\n") for column in shown)
    table = Table(box=None, padding=(0, _PADDING, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("method", no_wrap=True, vertical="bottom")
    for at, column in enumerate(shown):
        first = at == 0 or shown[at - 1].group != column.group
        below = columns[id(column)].header
        missing = "\n" * (height - below.count("\n"))
        heading = f"{column.group.upper() if first else ''}\n{missing}{below}"
        table.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
    if front is not None:
        table.add_column("pareto", no_wrap=True, vertical="bottom")
    cells = [methods.cells, *(columns[id(c)].cells for c in shown), *([front] if front else [])]
    for row in zip(*cells, strict=True):
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print()
    console.print(table)
    _say(console, groups_note(board, shown))
    if left_out:
        _say(console, _left_out(column.header for column in left_out))


def _in_turn(found: list[GroupColumn]) -> list[GroupColumn]:
    """The first column of every group, then the second of every group, and so on."""
    place: Counter[str] = Counter()
    order = []
    for column in found:
        order.append((place[column.group], column))
        place[column.group] += 1
    return [column for _, column in sorted(order, key=lambda pair: pair[0])]


def _wrapped(header: str) -> str:
    """A header on a few lines, none narrower than its longest word."""
    longest = max(map(len, header.split()))
    return "\n".join(wrap(header, width=max(longest, -(-len(header) // _HEADER_LINES))))


def _left_out(headers: Iterable[str]) -> str:
    return (
        f"Left out at this width: {', '.join(header.replace(chr(10), ' ') for header in headers)}."
    )


def _say(console: Console, text: str) -> None:
    console.print(visible(text), highlight=False, markup=False)


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
