"""Rows from elsewhere: a board's part in one file, made to be sent and read as hostile data.

:mod:`~uqbench.boards.submission.bundle` is the file, :mod:`~uqbench.boards.submission.make` writes
one from a results folder, :mod:`~uqbench.boards.submission.judge` recomputes its tables, and
:mod:`~uqbench.boards.submission.add` puts its rows on a stored board, *verified* or
*self-reported*.
"""
