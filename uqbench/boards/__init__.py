"""Leaderboards: made of runs, and stored. No room below knows them.

Read ``scores`` (a row a planned run), ``leaderboard`` (the tables, a function of the scores) and
``standings`` (a method's estimates) first; then ``stored`` and ``manifest`` (a folder and its
digests). How boards look is in :mod:`uqbench.pages`.
"""

from uqbench.contract.faces import face

__getattr__ = face(
    __name__, stored="StoredBoard,board_at,board_folders", leaderboard="Board,board",
    scores="Score,check_scores,from_csv,gather,to_csv", headline="Told", manifest="Manifest",
)  # fmt: skip
