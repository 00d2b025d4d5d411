"""Rows from elsewhere: what an author sends, and how it becomes rows of a board.

:mod:`~uqbench_keeper.make` writes and reads the file of a submission,
:mod:`~uqbench_keeper.verify` makes the runs of its rows here, and puts the rows on a stored board,
*verified* or *self-reported*.
"""
