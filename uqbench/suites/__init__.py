"""Suites: their tables, reading and checking them, and planning their runs.

Read ``suite``, ``tables``, ``metrics`` and ``claims`` (every key of a suite file) first, then
``reading`` and ``rows`` (a suite is rows, each checked as it is added), then ``selection`` and
``plan`` (the runs that are meant, each with its identity).
"""
