"""Leaderboards for the terminal, readable at 80 columns: names are shortened, the score stays."""

from rich.console import Console

from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import missing_note
from uqbench.boards.protocol import older_scores
from uqbench.boards.tables import IMPROVEMENT, label
from uqbench.contract.wording import count, visible
from uqbench.pages.board_view import BoardView
from uqbench.pages.console import PADDING, Shown, stdout, table
from uqbench.pages.learning import learned, without_score


def print_board(board: Board, console: Console | None = None, said: str = "") -> None:
    """Print a board in the width of a console: its ranking, what it comes to, what it lacks.

    ``said`` stands in place of the board's own finding.
    """
    console, told = console or stdout(), learned(board)
    view = without_score(BoardView.of(board), told)
    title = ". ".join(filter(None, (view.title, older_scores(board))))
    console.print(visible(title), style="italic", highlight=False)
    console.print(table(fitting(view, console.width + PADDING)))
    proof = filter(None, [" ".join(told.values())])
    for text in (said or board.finding, *further(view), *lacking(board), *proof):
        console.print(visible(text), highlight=False, markup=False)


def fitting(view: BoardView, room: int) -> list[Shown]:
    """The columns of a board in a width: P(better) is the first to go, stated intervals the last.

    Names are shortened to 24 letters, and to fewer before intervals go; the score never goes.
    """
    better = [name for name in view.named if name.startswith(IMPROVEMENT)]
    last = [*better, "calibration"]
    names = [n for n in view.shown() if n in ("rank", "method", view.ranking, *last)]
    none, least = list[str](), ["rank", *last]
    for letters, gone in zip(
        (room, 24, 24, 16, 24, 16, 8), (none, none, better, better, last, last, least), strict=True
    ):
        columns = [view.column(name, letters) for name in names if name not in gone]
        shown = [Shown(of.header.replace("than ", "than\n"), of.texts, left=of.name == "method")
                 for of in columns]  # fmt: skip
        if sum(column.width for column in shown) <= room:
            break
    return shown


def further(view: BoardView) -> list[str]:
    """A sentence on the number of runs, and on columns that only the file has."""
    runs = sorted({line.scored for line in view.lines} or {0})
    each = f"{runs[0]} to " * (len(runs) > 1) + count(runs[-1], "run")
    rest = [label(n) for n in view.named if n != "calibration" and not n.startswith(IMPROVEMENT)]
    also = f"; leaderboard.csv also has: {', '.join(rest)}" * bool(rest)
    return [f"{each} each{also}."]


def lacking(board: Board) -> list[str]:
    """Sentences on planned runs without a score, and on runs of several versions of the code."""
    missing = missing_note(board.scores, board.planned).replace("*", "").replace("`", "")
    mixed = ", ".join(package for package, hashes in board.content.items() if len(hashes) > 1)
    said = f"Runs were made with several versions of the code of {mixed}: a difference of methods "
    return [*filter(None, (missing, f"{said}may be one of versions." * bool(mixed)))]
