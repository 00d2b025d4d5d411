"""Intervals, tests and ranks of runs; knows no claim and no board.

Read ``statistic`` (mean, IQM, … by name) and ``location`` (their intervals and differences) first;
then ``paired``, ``concordance`` and ``proportion``, ``ranks`` (sets that hold together), and
``interim_analyses`` (looking more than once). ``rliable``'s own intervals are in ``aggregate``.
"""
