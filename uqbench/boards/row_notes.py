"""What a board says of a row behind its name, and of rows that are no methods."""

from __future__ import annotations

from uqbench.boards.leaderboard import Board

MARK = "†"
"""Behind the name of a method that does not beat the best trivial row."""


def remark(board: Board, method: str) -> str:
    """What stands behind a row's name: its role, or the mark, and whether it is stored."""
    role = board.plan.roles[method]
    beaten = None if board.floor is None else board.floor.beaten.get(method)
    words: list[str] = [] if role == "method" else [role]
    if method in board.local:
        words.append("local")
    if method in board.submitted:
        words.append(board.submitted[method])
    if method in board.origins:
        words.append("stored")
    return f" {MARK}" * (beaten is False) + f" ({', '.join(words)})" * bool(words)


def remarks_note(board: Board) -> str:
    """Where trivial and oracle rows lie, and what the remarks mean; empty without any."""
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
    if board.local:
        sentences.append(
            "Local rows are of code that is in no installed package: their versions are digests."
        )
    if board.submitted:
        sentences.append(
            "Rows of others' runs are verified, some of them having been made again here with "
            "agreeing results, or self-reported: submissions.json says how many."
        )
    if board.origins:
        places = ", ".join(sorted(set(board.origins.values())))
        sentences.append(f"Stored rows are from {places} and were not run again.")
    return " ".join(sentences)
