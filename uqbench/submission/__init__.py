"""Rows from elsewhere: a board's part in one file, made to be sent and read as hostile data.

:mod:`~uqbench.submission.bundle` is the file, :mod:`~uqbench.submission.make` writes one from a
results folder, :mod:`~uqbench.submission.judge` recomputes its tables, and
:mod:`~uqbench.submission.add` puts its rows on a stored board, *verified* or *self-reported*.
"""
