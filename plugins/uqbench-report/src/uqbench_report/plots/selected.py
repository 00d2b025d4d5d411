"""Boards with the frames of some rows alone, for figures of them."""

from collections.abc import Collection
from dataclasses import replace

from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import unknown


def showing(board: StoredBoard, methods: Collection[str], tasks: Collection[str]) -> StoredBoard:
    """A board with frames of some methods and tasks; all of a kind where none is named.

    Raises:
        UqbenchError: it has no such method or task.
    """
    every = sorted({str(task) for task in board.scores["task"]})
    for kind, names, known in (("method", methods, board.methods), ("task", tasks, every)):
        for name in names:
            if name not in known:
                raise unknown(f"{kind} of {board.title}", name, known)
    return replace(board, shown=(tuple(methods), tuple(tasks)))
