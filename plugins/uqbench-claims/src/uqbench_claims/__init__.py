"""Claims of papers: their kinds, and the verdicts that follow from intervals.

Read ``verdict`` first, the one rule for all kinds; then the kinds ``order``, ``band`` and ``share``
in ``kinds``; then ``judge`` (a suite's claims, by the scores of its runs), ``table`` (how a board
shows them) and ``judged`` (the matrix over boards). The contract is :mod:`uqbench.contract.claim`.
"""
