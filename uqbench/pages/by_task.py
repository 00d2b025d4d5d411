"""Each task by itself: a method's mean there, and the ranks that the task's runs leave open."""

from collections.abc import Mapping, Sequence

from uqbench.boards.leaderboard import Board
from uqbench.pages.board_view import NONE, BoardView
from uqbench.statistics.ranks import Place

LEARNED = 0.1
"""A run has learned a task if its score is above this, where 0 costs no learning and 1 is good."""
MOST = 8
"""Tasks that a page has room for; ``tasks.csv`` has all."""


def by_task(board: Board, view: BoardView) -> tuple[list[str], list[list[str]], str]:
    """The tasks, a line a method with a cell a task, and a note; nothing to rank gives no lines.

    Kendall's coefficient of concordance says how far the tasks' orders of the methods agree
    (Kendall & Babington Smith 1939, The problem of m rankings).
    """
    tasks = list(dict.fromkeys(cell.task.name for cell in board.plan.cells))
    if not 1 < len(tasks) <= MOST or len(board.places) < 2:
        return tasks, [], ""
    places = {task: board.places_on(task) for task in tasks}
    learned = ", ".join(f"{task} {_learned(board, task)}" for task in tasks)
    lines = [
        [f"`{line.method}`", *(_cell(board, line.method, task, places[task]) for task in tasks)]
        for line in view.lines
    ]
    note = (
        f"Mean `{board.primary.name}`, and in brackets the ranks that the runs of this task alone "
        "leave open; those of one task hold together with 95 %. The tasks order the methods alike "
        f"to a degree of {concordance(list(places.values())):.2f} (Kendall's W: 1 the same order, "
        f"{1 / len(tasks):.2f} by chance). Runs with a score above {LEARNED:g}: {learned}."
    )
    return tasks, lines, note


def _learned(board: Board, task: str) -> str:
    """How many of the methods' runs have learned a task, of all."""
    column = board.methods[next(iter(board.places))].tasks.index(task)
    scores = [board.matrices[name][:, column] for name in board.places]
    return f"{sum((own > LEARNED).sum() for own in scores)} of {sum(map(len, scores))}"


def without_each(board: Board) -> str:
    """Whether the ranks hang on one task: the sets that move by more than one without it."""
    tasks = [task for how, task in board.subsets if how == "without"]
    if not tasks or len(board.places) < 2:
        return ""
    moved = {}
    for task in tasks:
        places = board.places_on(*board.subsets["without", task])
        told = [
            f"`{name}` {before} → {after}"
            for name, before in board.places.items()
            if (after := places.get(name)) is not None
            and max(abs(before.low - after.low), abs(before.high - after.high)) > 1
        ]
        if told:
            moved[task] = told
    if not moved:
        return "Without any one task, no set of ranks moves by more than one place."
    parts = [f"without {task}, {', '.join(told)}" for task, told in moved.items()]
    rest = "; without any other task none moves by more than one place" * (len(moved) < len(tasks))
    return f"Sets of ranks that move by more than one place: {'; '.join(parts)}{rest}."


def concordance(orders: Sequence[Mapping[str, Place]]) -> float:
    """Kendall's W of several orders of the same methods: 1 where all are the same."""
    sums = [sum(order[name].rank for order in orders) for name in orders[0]]
    number = len(sums)
    middle = sum(sums) / number
    squares = sum((of - middle) ** 2 for of in sums)
    return 12 * squares / (len(orders) ** 2 * (number**3 - number))


def _cell(board: Board, method: str, task: str, places: Mapping[str, Place]) -> str:
    own = board.methods[method]
    values = own.on(task, board.primary) if task in own.tasks else None
    if values is None:
        return NONE
    return f"{values.mean():.3g}" + (f" ({places[method]})" if method in places else "")
