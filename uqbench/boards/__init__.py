"""Leaderboards: made of runs, stored, checked. No room below knows them.

Read ``scores`` (a row a planned run), ``leaderboard`` (the tables, a function of the scores) and
``standings`` (a method's estimates) first; then ``stored`` and ``manifest`` (a folder and its
digests), ``reproduce`` (runs made again). How boards look is in :mod:`uqbench.pages`.
"""
