"""Scores and predictions that somebody has, and two boards, held side by side.

Read ``compare`` first (what goes in, what comes out), then ``score_table`` (columns, and a ledger
of every value) with ``score_files`` (whose files), ``imported`` (a board of scores), ``efficiency``
(curves) and ``two_boards``; ``predictions`` has the registered scores.
"""
