"""Rows from elsewhere: what an author sends, and how it becomes rows of a board.

:mod:`~uqbench.boards.submission.make` writes and reads the file of a submission,
:mod:`~uqbench.boards.submission.verify` makes the runs of its rows here, and
:mod:`~uqbench.boards.submission.add` puts the rows on a stored board, *verified* or
*self-reported*.
"""
