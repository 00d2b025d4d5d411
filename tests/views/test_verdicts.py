"""A claim that several boards of a suite are about counts once."""

from pathlib import Path
from types import SimpleNamespace

from uqbench.views.verdicts import JudgedClaim, by_paper, counted_once


def claim(place, verdict):
    board = SimpleNamespace(folder=Path("leaderboards") / place)
    return JudgedClaim(board, "it", verdict, "", "A paper, Table 1", "", "", tested=True)


def test_the_board_that_decides_a_claim_speaks_for_it():
    claims = [
        claim("cliff/quick", "not run"),
        claim("cliff/cpu", "undecided"),
        claim("cliff/paper", "holds"),
        claim("ring/paper", "undecided"),
    ]
    (paper,) = by_paper(counted_once(claims))
    assert (paper.count("holds"), paper.count("undecided"), paper.count("not run")) == (1, 1, 0)
    assert counted_once(claims)[0].board.folder.name == "paper"
