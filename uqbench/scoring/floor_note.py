"""What a board says of its trivial and oracle rows."""

from __future__ import annotations

from uqbench.scoring.leaderboard import Board

MARK = "†"
"""Behind the name of a method that does not beat the best trivial row."""


def mark(board: Board, method: str) -> str:
    """What stands behind a method's name."""
    beaten = None if board.floor is None else board.floor.beaten.get(method)
    return f" {MARK}" if beaten is False else ""


def floor_note(board: Board) -> str:
    """Where trivial and oracle rows lie, and what the mark means; empty where there are none."""
    sentences = []
    for role, what in (("trivial", "Without learning"), ("oracle", "Knowing more than an agent")):
        values = [
            f"{line.method} {line.primary[board.ranking].value:.3f}"
            for line in board.best_first
            if board.plan.roles[line.method] == role and board.ranking in line.primary
        ]
        if values:
            sentences.append(f"{what} ({role}): {', '.join(values)}; no rank.")
    if board.floor is not None and False in board.floor.beaten.values():
        sentences.append(
            f"{MARK} does not beat {board.floor.best}, the best of these: the 95 % interval of the "
            f"difference does not lie above zero."
        )
    return " ".join(sentences)
