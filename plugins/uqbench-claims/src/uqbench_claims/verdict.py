"""The verdict on a claim: what the decisions on its comparisons come to.

A comparison is decided by its interval, at a level corrected for their number
(:mod:`uqbench_claims.decision`); the error of a whole claim is at most 5 %.
"""

import enum
from collections.abc import Sequence

from uqbench.contract.claim import Evidence
from uqbench_claims.decision import Finding, combine


class Verdict(enum.Enum):
    """The verdict of runs on a claim.

    HOLDS: the claim's comparisons are true.
    DOES_NOT_HOLD: one that it needs is false, or the difference is too small to matter.
    OPEN: neither can be said from these runs, or another reading of the paper, which the suite
        records, has the opposite verdict.
    NOT_RUN: runs are missing, or the claim needs another budget or more tasks.
    """

    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    OPEN = "open"
    NOT_RUN = "not run"


DECIDED = (Verdict.HOLDS, Verdict.DOES_NOT_HOLD)


def verdict(evidence: Evidence, findings: Sequence[Finding]) -> Verdict:
    """The verdict on a claim from its findings."""
    known = [False if f.equal and f.true is None else f.true for f in findings]
    word = {True: Verdict.HOLDS, False: Verdict.DOES_NOT_HOLD, None: Verdict.OPEN}
    return word[combine(evidence, known)]
