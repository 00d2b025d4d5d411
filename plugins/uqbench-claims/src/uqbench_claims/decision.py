"""Decisions on comparisons by their intervals, and the seeds that would decide open ones.

Each comparison is decided by its interval: true where that lies inside the comparison's region,
false where it lies outside, open otherwise. The error of all together is at most 5 %: with m
comparisons the intervals have level 1 − 0.05/m; where some are decided, the remaining k are looked
at once more at 1 − 0.05/k, and so on (Holm 1979).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from uqbench.contract.claim import Comparison, Evidence, Interval
from uqbench.contract.seeding import derive_seed
from uqbench.statistics.levels import ALPHA, MOST_SEEDS, POWER

CHANCES = 500
"""Errors of estimates that are drawn, with their opposites, for the chance that seeds decide."""

_HALF = NormalDist().inv_cdf(0.75)
"""Half of a normal 50 % interval, in standard deviations."""


@dataclass(frozen=True)
class Finding:
    """A comparison and what its interval says.

    Attributes:
        alpha: one minus the interval's level.
        interval: None where there is none: too few seeds, or no spread.
        true: inside the region, outside (False), or open (None).
        equal: whether the difference of means is within the margin that matters, by two one-sided
            tests at this level (Schuirmann 1987).
    """

    comparison: Comparison
    alpha: float
    interval: Interval | None
    true: bool | None
    equal: bool = False

    @property
    def word(self) -> str:
        """``true``, ``false``, ``equal`` or ``open``."""
        return {True: "true", False: "false", None: "equal" if self.equal else "open"}[self.true]


def find(evidence: Evidence, *, intervals: bool) -> tuple[Finding, ...]:
    """Findings of the comparisons' intervals, at levels that are corrected for their number.

    Without ``intervals`` (there are too few seeds for any) everything is open.
    """
    comparisons = evidence.comparisons
    alpha = ALPHA / len(comparisons)
    if not intervals:
        return tuple(Finding(comparison, alpha, None, None) for comparison in comparisons)
    findings = [_find(comparison, alpha) for comparison in comparisons]
    while True:
        left = [i for i, f in enumerate(findings) if f.true is None and not f.equal]
        if not left or findings[left[0]].alpha == ALPHA / len(left):
            return tuple(findings)
        for i in left:
            findings[i] = _find(comparisons[i], ALPHA / len(left))


def combine(evidence: Evidence, true: Sequence[bool | None]) -> bool | None:
    """Whether so many groups of comparisons are true as must be; None where that is open."""
    groups: dict[str, list[tuple[Comparison, bool | None]]] = {}
    for comparison, known in zip(evidence.comparisons, true, strict=True):
        groups.setdefault(comparison.group, []).append((comparison, known))
    needed = len(groups) if evidence.at_least is None else evidence.at_least
    no = sum(any(known is False for _, known in group) for group in groups.values())
    yes = sum(all(known for _, known in group) for group in groups.values())
    if yes >= needed:
        return True
    if len(groups) - no < needed:
        return False
    return None


@dataclass(frozen=True)
class Needed:
    """Numbers of seeds that would decide all comparisons with a probability of ``POWER``.

    Attributes:
        seeds: if today's estimates and spreads were exact; None where ``MOST_SEEDS`` would not do.
        low, high: at estimates that are off by half of their 50 % intervals, away from what must be
            ruled out or towards it: one time in two the estimates are further off than that.
        chance: that ``seeds`` decide, averaged over the error of today's estimates.
    """

    seeds: int | None
    low: int | None
    high: int | None
    chance: float | None

    def told(self, seeds: int) -> str:
        """The number of seeds needed beyond those that are there, in words."""
        if self.seeds is None:
            return f"too close to call: {MOST_SEEDS:,} seeds would not decide"
        more = self.seeds - seeds
        low = more if self.low is None else self.low - seeds
        high = f"more than {MOST_SEEDS:,}" if self.high is None else f"{self.high - seeds:,}"
        return f"about {more:,} more seed{'s'[: more > 1]} would decide ({low:,} to {high})"


def seeds_needed(evidence: Evidence, findings: Sequence[Finding], seeds: int) -> Needed:
    """The number of seeds that would decide all comparisons together."""
    open_ones = max(1, sum(finding.true is None for finding in findings))
    slack = 2 * (1 - POWER) / open_ones  # two-sided level of an interval that is missed so often

    def decides(seeds: int, shifted: float) -> bool:
        true = [_expected(f, seeds, slack, shifted) for f in findings]
        return combine(evidence, true) is not None

    def needed(shifted: float) -> int | None:
        """The least number of seeds that decides, with estimates that far from the boundary."""
        too_few, enough = seeds, seeds + 1
        while not decides(enough, shifted):
            if enough >= MOST_SEEDS:
                return None
            too_few, enough = enough, min(2 * enough, MOST_SEEDS)
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            too_few, enough = (too_few, middle) if decides(middle, shifted) else (middle, enough)
        return enough

    if (enough := needed(0.0)) is None:
        return Needed(None, None, None, None)
    chance = _chance(evidence, findings, seeds, enough)
    return Needed(enough, needed(1.0), needed(-1.0), chance)


def _chance(evidence: Evidence, findings: Sequence[Finding], today: int, seeds: int) -> float:
    """The probability that a new sample of ``seeds`` decides, where true values are uncertain.

    Its estimate is about normal around today's, with the variance of both: the true value's today,
    and its own. Comparisons are taken as independent, regions as they are today.
    """
    measured = [finding.comparison.measured for finding in findings]
    found = [of.interval(f.alpha, seeds) for of, f in zip(measured, findings, strict=True)]
    halves = [[of.interval(0.5, n) or (0.0, 0.0) for n in (today, seeds)] for of in measured]
    spread = [math.hypot(*((high - low) / 2 / _HALF for low, high in both)) for both in halves]
    drawn = np.random.default_rng(derive_seed("chance")).standard_normal((CHANCES, len(found)))
    decided = 0
    for away in (np.concatenate([drawn, -drawn]) * spread).tolist():
        true = [
            _inside(finding.comparison, ends and (ends[0] + by, ends[1] + by))
            for finding, ends, by in zip(findings, found, away, strict=True)
        ]
        decided += combine(evidence, true) is not None
    return decided / (2 * CHANCES)


def _expected(finding: Finding, seeds: int, slack: float, shifted: float) -> bool | None:
    """A comparison's truth with so many seeds, if its estimate is as unlucky as ``slack``."""
    measured, region = finding.comparison.measured, finding.comparison.region
    interval = measured.interval(finding.alpha, seeds)
    unlucky = measured.interval(slack, seeds)
    if interval is None or unlucky is None:
        return None
    away = 0.0
    present = measured.interval(0.5) if shifted else None
    if present is not None:
        bounds = [bound for bound in (region.low, region.high) if math.isfinite(bound)]
        nearest = min(bounds, key=lambda bound: abs(measured.estimate - bound))
        half = (present[1] - present[0]) / 2
        if shifted < 0 and half >= abs(measured.estimate - nearest):
            return None  # on the boundary no number of seeds decides
        away = math.copysign(half, measured.estimate - nearest) * shifted
    low = interval[0] - (measured.estimate - unlucky[0]) + away
    high = interval[1] + (unlucky[1] - measured.estimate) + away
    return _inside(finding.comparison, (low, high))


def _find(comparison: Comparison, alpha: float) -> Finding:
    interval = comparison.measured.interval(alpha)
    true, equal = _inside(comparison, interval), _equal(comparison, alpha)
    return Finding(comparison, alpha, interval, true, equal)


def _equal(comparison: Comparison, alpha: float) -> bool:
    if comparison.difference is None or comparison.margin is None:
        return False
    interval = comparison.difference.interval(2 * alpha)
    return interval is not None and max(map(abs, interval)) < comparison.margin


def _inside(comparison: Comparison, interval: Interval | None) -> bool | None:
    if interval is None:
        return None
    low, high = interval
    region = comparison.region
    if low in region and high in region:
        return True
    if high < region.low or low > region.high:
        return False
    return None
