"""Sentences under a board: the proof that each method learned."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from uqbench.boards.leaderboard import Board
from uqbench.contract.wording import count
from uqbench.pages.board_view import BoardView

NONE = "no gradient step"
"""The words by which a sentence says that nothing was learned."""


def learned(board: Board, names: Mapping[str, str] | None = None) -> dict[str, str]:
    """A sentence on each method whose runs prove how much they learned, or that they did not.

    ``names`` are what methods are called, if not by their own.
    """
    found: dict[str, list[Mapping[str, float]]] = {}
    for cell in board.scores.cells:
        proofs = [made.learning for made in cell.made if made is not None and made.learning]
        if proofs and board.plan.roles[cell.method] == "method":
            found.setdefault((names or {}).get(cell.method, cell.method), []).extend(proofs)
    told = {name: said(proofs) for name, proofs in found.items()}
    return {name: f"{name}: {proof}." for name, proof in told.items() if proof}


def without_score(view: BoardView, told: Mapping[str, str]) -> BoardView:
    """A board's rows, without the scores of methods of which is told that they did not learn."""
    none = {name for name, sentence in told.items() if NONE in sentence}
    lines = [replace(x, place=None, estimates={}) if x.method in none else x for x in view.lines]
    return replace(view, lines=tuple(lines))


def said(proofs: Sequence[Mapping[str, float]]) -> str:
    """The proofs of a method's runs in words; the least that any run learned comes first.

    Empty where all that is known is that some state changed.
    """
    known = {n: [of[n] for of in proofs if n in of] for n in set[str]().union(*proofs)}
    moved = known.get("moved", [])
    if moved and (not any(moved) or 0 in known.get("gradient_steps", ())):
        return f"{NONE} was seen, or none that moved a parameter: its score is of what it began as"
    least = min(known.get("gradient_steps", [-1]))
    steps = count(int(least), "gradient step") if least else "no optimizer of PyTorch was seen"
    words = {"trained": "return", "untrained": "untrained", "random": "random"}
    returns = [f"{word} {fmean(known[name]):.3g}" for name, word in words.items() if name in known]
    still = [f"{moved.count(0)} of {len(moved)} runs moved no parameter"] * (0 in moved)
    return ", ".join([steps] * (least >= 0) + returns + still)
