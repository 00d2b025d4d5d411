"""Intervals, tests and ranks of runs; knows no claim and no board.

Three procedures: ``location`` (t intervals of means over tasks), ``bounded`` (means of values of a
known range, such as shares), ``concordance`` (how often one of two runs is the better); and
``ranks``, all pairs of methods together. ``statistic`` has the statistics by name.
"""
