"""Claims: the built-in kinds, and the verdicts that follow from their intervals.

Read ``verdict`` first, the one rule for all kinds; then the kinds ``order``, ``band`` and
``share``; then ``judge`` (a suite's claims, by the scores of its runs) and ``table``. What a
kind is, is in :mod:`uqbench.contract.claim`.
"""
