"""Boards for people: one view of a board, and what writes it.

:mod:`~uqbench.pages.board_view` makes the view (rows, columns, groups, notes) of a board, computed
or stored; ranks, estimates and intervals become text there and nowhere else. ``terminal``,
``markdown``, ``notebook`` and the package uqbench-report lay it out; ``board_folders`` writes a
board's folder with its page.
"""
