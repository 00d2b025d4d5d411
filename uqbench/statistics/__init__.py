"""Intervals, tests and ranks of runs; knows no claim and no board.

Four procedures: ``location`` (t intervals of means over tasks), ``ranks`` (all pairs of methods,
together), ``share`` and ``concordance`` (how often something is so), ``failures`` (means of runs
that may fail). ``statistic`` has the statistics by name, ``interim_analyses`` what several analyses
of growing numbers of runs cost.
"""
