"""Leaderboards for the terminal, readable at 80 columns: it is said what has no room."""

from collections.abc import Sequence

from rich.console import Console

from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import missing_note
from uqbench.boards.protocol import older_scores
from uqbench.boards.stored import StoredBoard
from uqbench.boards.tables import IMPROVEMENT, label
from uqbench.contract.wording import count, visible
from uqbench.pages.board_view import BoardView, header
from uqbench.pages.console import PADDING, Shown, stdout, table
from uqbench.pages.learning import learned, without_score

ENDS = "ends"
"""What a narrow table is without, before it is without a column."""
CUT = (999, 24, 16, 8)
"""Letters that names have when nothing else is left to go."""


def print_board(
    board: Board, console: Console | None = None, titled: StoredBoard | None = None
) -> None:
    """Print a board in the width of a console: its ranking, what it comes to, what it lacks.

    ``titled`` is the same board as it is stored, whose rows have the names of papers.
    """
    console, own = console or stdout(), titled or board
    told = learned(board, titled.names if titled else None)
    view = without_score(BoardView.of(own), told)
    title = ". ".join(filter(None, (view.title, older_scores(board))))
    console.print(visible(title), style="italic", highlight=False)
    columns, gone = fitting(view, console.width + PADDING)
    console.print(table(columns))
    texts = own.finding, *further(view, gone), *lacking(board), " ".join(told.values())
    for text in filter(None, texts):
        console.print(visible(text), highlight=False, markup=False)


def fitting(view: BoardView, room: int) -> tuple[list[Shown], list[str]]:
    """The columns of a board in a width, and what there was no room for, in words.

    P(better) is the first to go; then the intervals of shares covered, ranks, and these shares.
    Names are shortened where nothing else is left to go; the score never goes.
    """
    better = {name: label(name) for name in view.named if name.startswith(IMPROVEMENT)}
    least = {name: header(name) for name in ("rank", "calibration") if name in view.shown()}
    ends = {ENDS: "intervals of the shares covered"} if "calibration" in least else {}
    ways = better | ends | least
    names = [n for n in view.shown() if n in (*ways, "method", view.ranking)]
    for number, letters in [*((n, 999) for n in range(len(ways))), *((len(ways), n) for n in CUT)]:
        gone = [*ways][:number]
        kept = (name for name in names if name not in gone)
        columns = [view.column(name, letters, ends=ENDS not in gone) for name in kept]
        shown = [Shown(of.header.replace("than ", "than\n"), of.texts, left=of.name == "method")
                 for of in columns]  # fmt: skip
        if sum(column.width for column in shown) <= room:
            break
    return shown, [ways[n] for n in gone if n != ENDS or "calibration" not in gone]


def further(view: BoardView, gone: Sequence[str] = ()) -> list[str]:
    """Sentences on the number of runs, on columns that only the file has, and on those left out."""
    runs = sorted({line.scored for line in view.lines} or {0})
    each = f"{runs[0]} to " * (len(runs) > 1) + count(runs[-1], "run")
    rest = [label(n) for n in view.named if n != "calibration" and not n.startswith(IMPROVEMENT)]
    also = f"; leaderboard.csv also has: {', '.join(rest)}" * bool(rest)
    return [f"{each} each{also}.", f"Too narrow here for: {'; '.join(gone)}." * bool(gone)]


def lacking(board: Board) -> list[str]:
    """Sentences on planned runs without a score, and on runs of several versions of the code."""
    missing = missing_note(board.scores, board.planned).replace("*", "").replace("`", "")
    mixed = ", ".join(package for package, hashes in board.content.items() if len(hashes) > 1)
    said = f"Runs were made with several versions of the code of {mixed}: a difference of methods "
    return [missing, f"{said}may be one of versions." * bool(mixed)]
