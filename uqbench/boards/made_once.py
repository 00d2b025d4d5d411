"""Files that are computed once, when a board is written: papers to cite, and error rates."""

from uqbench.boards.error_rates import ERRORS, errors_csv
from uqbench.boards.leaderboard import Board
from uqbench.registry.papers import cited
from uqbench.registry.plugins import Host

STATISTICS = "Agarwal et al. 2021"
"""Of the interquartile mean, the optimality gap and the probability of improvement."""


def made_once(board: Board, host: Host) -> dict[str, bytes]:
    """``papers.bib``, of a board's suite, methods and statistics, and ``errors.csv``."""
    plan = board.plan
    listed, _ = cited(host, [*plan.suite.sources(host, plan.roles), STATISTICS])
    papers = "\n".join(paper.bibtex for paper in listed)
    return {"papers.bib": papers.encode(), ERRORS: errors_csv(board).encode()}
