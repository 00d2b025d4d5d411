"""Rules of every kind of claim: its intervals are honest, so that its verdicts are."""

import math
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from uqbench.contract.claim import CannotCompareError, ClaimKind, Observations
from uqbench_testing.conformance.check import Subject, Vacuous, check, expect

RUNS = 10
EXPERIMENTS = 60
LARGE = 4_000
ALPHA = 0.05
STANDARD_ERRORS = 4.0
"""Standard errors of the count of misses.

A false alarm in one of 30,000 checks of an exact interval.
"""


@dataclass(kw_only=True)
class ClaimSubject(Subject, kind="claim kind"):
    """A claim of that kind, and the configs of its methods."""

    claim: ClaimKind
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)


@check(ClaimSubject, "claim-compares")
def compares(subject: ClaimSubject) -> None:
    """`compare` makes comparisons of the methods that named_methods names.

    Ten runs of normal numbers.

    Fix:
        Name every method whose runs compare asks for.
    """
    expect(subject.claim.named_methods, "named_methods is empty")
    expect(subject.claim.compare(_observed(subject, RUNS, 0)).comparisons, "it made no comparison")


@check(ClaimSubject, "claim-intervals", after=("claim-compares",))
def intervals(subject: ClaimSubject) -> None:
    """95 % intervals miss in at most 5 % of experiments: false claims rarely hold.

    60 experiments of ten runs; the truth is what 4,000 runs say.

    Fix:
        Take intervals from uqbench.statistics.location, or widen your own.
    """
    try:
        large = subject.claim.compare(_observed(subject, LARGE, 10**6))
    except CannotCompareError as error:
        raise Vacuous(f"such runs cannot be compared: {error}") from error
    truth, misses, known = large.comparisons[0].measured.estimate, 0, False
    for experiment in range(EXPERIMENTS):
        try:
            evidence = subject.claim.compare(_observed(subject, RUNS, experiment + 1))
        except CannotCompareError:
            continue
        interval = evidence.comparisons[0].measured.interval(ALPHA)
        known |= interval is not None and any(map(math.isfinite, interval))
        misses += interval is not None and not interval[0] <= truth <= interval[1]
    expect(known, "none of its intervals has an end: it decides nothing")
    allowed = EXPERIMENTS * ALPHA + STANDARD_ERRORS * (EXPERIMENTS * ALPHA * (1 - ALPHA)) ** 0.5
    missed = f"it misses in {misses} of {EXPERIMENTS} experiments; at most {allowed:.0f}"
    expect(misses <= allowed, missed)


def _observed(subject: ClaimSubject, runs: int, seed: int) -> Observations:
    """Independent normal runs of every method, all alike."""
    generator, tasks = np.random.default_rng(seed), subject.claim.tasks or ("one",)
    pairs = product(subject.claim.named_methods, tasks)
    raw = {pair: generator.normal(1.0, 0.25, runs) for pair in pairs}
    return Observations(
        direction="max",
        tasks=tuple(tasks),
        raw=raw,
        configs={key: subject.configs.get(key[0], {}) for key in raw},
        task_configs={task: {} for task in tasks},
        normalize={task: lambda value: value for task in tasks},
    )
