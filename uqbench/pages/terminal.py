"""Leaderboards for the terminal, readable at 80 columns: columns are left out, names never cut."""

from rich.console import Console

from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import missing_note
from uqbench.boards.protocol import older_scores
from uqbench.contract.wording import visible
from uqbench.pages.board_view import BoardView
from uqbench.pages.console import PADDING, Shown, stdout, table


def print_board(board: Board, console: Console | None = None, said: str = "") -> None:
    """Print a board in the width of a console: its ranking, what it comes to, what it lacks.

    ``said`` stands in place of the board's own finding.
    """
    console, view = console or stdout(), BoardView.of(board)
    columns = [view.column(name) for name in view.shown()]
    shown = [Shown(of.header.replace("than ", "than\n"), of.texts, left=of.name == "method")
             for of in columns]  # fmt: skip
    room = console.width + PADDING
    while len(shown) > 2 and sum(column.width for column in shown) > room:
        shown.pop()
    title = f"{view.title}. {older_scores(board)}" if older_scores(board) else view.title
    console.print(visible(title), style="italic", highlight=False)
    console.print(table(shown))
    for text in (said or board.finding, *lacking(board)):
        console.print(visible(text), highlight=False, markup=False)


def lacking(board: Board) -> list[str]:
    """Sentences on planned runs without a score, and on runs of several versions of the code."""
    lines = [missing_note(board.scores, board.planned).replace("*", "").replace("`", "")]
    mixed = [package for package, hashes in board.content.items() if len(hashes) > 1]
    said = f"Runs were made with several versions of the code of {', '.join(mixed)}."
    return [*filter(None, lines), *[said] * bool(mixed)]
