"""Leaderboards for the terminal, readable at 80 columns: columns are left out, names never cut."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from textwrap import wrap

from rich.console import Console

from uqbench.boards.leaderboard import Board
from uqbench.boards.standings import shown_statistics
from uqbench.boards.tables import label
from uqbench.contract.wording import visible
from uqbench.pages.board_view import IMPROVEMENT, BoardView, Column, board_notes
from uqbench.pages.console import PADDING, Shown, stdout, table
from uqbench.pages.groups import group_columns, groups_note

_HEADER_LINES = 3
"""About as many lines a header has, below its group's name."""


def print_ranking(board: Board) -> None:
    """Print a board's ranking alone to stdout, and what it comes to."""
    _show_ranking(board, BoardView.of(board), stdout())


def print_board(board: Board, console: Console | None = None) -> None:
    """Print a board's tables in the width of a console, with what must be known to read them."""
    console, view = console or stdout(), BoardView.of(board)
    left_out = _show_ranking(board, view, console)
    _say(console, *notes(board, view), *_left_out(left_out))
    _show_groups(board, view, console)


def _show_ranking(board: Board, view: BoardView, console: Console) -> list[str]:
    """Print the table of the score and the finding; return headers for which there is no room."""
    shown, left_out, room = [], [], console.width + PADDING
    for column in _columns(board, view):
        if column.width <= room or column.header in ("rank", "method"):
            shown.append(column)
            room -= column.width
        else:
            left_out.append(column.header.replace("\n", " "))
    console.print(visible(view.title), style="italic", highlight=False)
    console.print(table(shown))
    _say(console, board.finding)
    return left_out


def notes(board: Board, view: BoardView) -> list[str]:
    """What a reader of the table must know."""
    plan, metric = board.plan, board.primary
    normalization = plan.suite.normalization[metric.normalized_as or metric.name]
    lines = [
        f"Score: {metric.name} ({metric.summary}); 0 = {normalization.zero}, "
        f"1 = {normalization.one}.",
        f"{label(board.ranking)} of the score, in brackets 95 % intervals over seeds.",
    ]
    if board.places:
        lines[-1] += (
            " Ranks that the runs leave open are sets such as 1–3; together they hold with 95 %."
        )
    lines += board_notes(board, view)
    unscored = (cell.without_score("finished without a value") for cell in board.scores.cells)
    without = Counter(chain.from_iterable(unscored))
    if without:
        states = ", ".join(f"{number} {state}" for state, number in sorted(without.items()))
        lines.append(
            f"{without.total()} of {len(board.scores)} planned runs have no score ({states}): "
            f"no aggregate is shown where one is missing."
        )
    mixed = [package for package, hashes in board.content.items() if len(hashes) > 1]
    said = f"Runs were made with several versions of the code of {', '.join(mixed)}."
    return lines + [said] * bool(mixed)


def _columns(board: Board, view: BoardView) -> Iterator[Shown]:
    """All columns, the more important ones first."""
    baseline = board.plan.suite.baseline
    ranking, *others = shown_statistics(board.plan)
    names = ["rank"] * bool(board.places) + ["method", ranking]
    names += ["calibration"] * view.calibrated
    if any(line.method != baseline for line in view.lines):
        names.append(f"{IMPROVEMENT}{baseline}")
    names += ["fail_share"] * (board.primary.fails_beyond is not None) + ["runs"]
    names += sorted(others, key=lambda name: name != "worst_quarter")
    for name in names:
        column = view.column(name)
        header = column.header.replace(f"than {baseline})", f"than\n{baseline})")
        yield Shown(header, column.texts, left=name == "method")


def _show_groups(board: Board, view: BoardView, console: Console) -> None:
    """Print the columns of return, risk and uncertainty, where a suite has them.

    Of each group in turn the next most important one is shown, as long as it fits.
    """
    columns = group_columns(board, view)
    if not columns:
        return
    printed = {c.name: Shown(_wrapped(c.header), c.texts) for c in columns}
    groups = [column.group for column in columns]
    rounds = {c.name: groups[:at].count(c.group) for at, c in enumerate(columns)}
    first = Shown("method", [line.method for line in view.lines], left=True)
    room = console.width + PADDING - first.width
    shown: list[Column] = []
    by_round = sorted(columns, key=lambda column: rounds[column.name])
    for column in by_round:
        needed = max(printed[column.name].width, len(column.group) + PADDING)
        if needed <= room:
            shown.append(column)
            room -= needed
    if shown:
        shown.sort(key=columns.index)
        height = max(printed[column.name].header.count("\n") for column in shown)
        middle, group = [], ""
        for column in shown:
            one, above = printed[column.name], "" if column.group == group else column.group.upper()
            missing = "\n" * (height - one.header.count("\n"))
            middle.append(one._replace(header=f"{above}\n{missing}{one.header}"))
            group = column.group
        console.print()
        console.print(table([first, *middle]))
        _say(console, groups_note(shown))
    _say(console, *_left_out([c.header for c in by_round if c not in shown]))


def _wrapped(header: str) -> str:
    """A header on a few lines, none narrower than its longest word."""
    longest = max(map(len, header.split()))
    return "\n".join(wrap(header, width=max(longest, -(-len(header) // _HEADER_LINES))))


def _left_out(headers: Sequence[str]) -> list[str]:
    return [f"Left out at this width: {', '.join(headers)}."] if headers else []


def _say(console: Console, *lines: str) -> None:
    for text in lines:
        console.print(visible(text), highlight=False, markup=False)
