"""Whether runs that were made again are those that are stored, and what that proves of the rows.

Of ``n`` finished rows ``k`` are drawn and made again. If ``F`` of the rows are false, none of these
is drawn with the probability ``C(n − F, k) / C(n, k)`` (hypergeometric). The word *verified* rules
out, with 95 %, that a fifth of the rows or more is false.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from uqbench.boards.scores import is_finite
from uqbench.contract.wording import count
from uqbench.results.scores import Score
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.quantiles import t_quantile

CLOSE = 1e-6
"""Relative difference of numbers that agree to the last places."""
LEVEL = 0.0025
"""Probability with which rows of honest runs, all together, are called inconsistent."""
WIDER = 2.0
"""Returns are skewed: of log-normal ones (σ = 0.6) Student's interval would refuse, by simulation,
a tenth of honest submissions from another processor, and twice as wide a one less than 1 %."""

FALSE_SHARE = 0.2
"""Share of false rows that the word rules out."""
NEW_RUNS = 5
"""Least runs of a method with new seeds, over all its tasks."""

Key = tuple[str, str, int]
"""Task, method and seed."""


class Agreement(enum.Enum):
    """What a repeated run says of a stored one.

    SAME_BITS: every number of its files is the same.
    LAST_PLACES: every metric is the same but for its last places: another processor.
    CONSISTENT: other numbers, as another seed might give: chaos after such last places.
    INCONSISTENT: other numbers than the repeated runs of this task and method allow for, or other
        numbers where processor, versions and code are the same.
    """

    SAME_BITS = "same bits"
    LAST_PLACES = "same to the last places"
    CONSISTENT = "other numbers, statistically consistent"
    INCONSISTENT = "statistically inconsistent"


EXACT = (Agreement.SAME_BITS, Agreement.LAST_PLACES)


@dataclass(frozen=True)
class Verification:
    """What is known of the rows of one method.

    Attributes:
        rows: how many finished rows it has.
        agreement: how each re-made row agrees, by the run's folder.
        new_runs: how many runs were made with seeds that no board has.
        difference: mean score of the rows minus that of the runs with new seeds and of those that
            did not come out the same, with its interval.
        used_up: how many data sets each task has whose data sets are numbered and all used by the
            rows, so that there are no new seeds.
        bars: why the rows are not called verified; empty where they are.
    """

    rows: int
    agreement: Mapping[str, Agreement] = field(default_factory=dict)
    new_runs: int = 0
    difference: tuple[float, float, float] | None = None
    bars: tuple[str, ...] = ()
    used_up: Mapping[str, int] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        """Whether the rows may be called so."""
        return not self.bars

    @property
    def exact(self) -> int:
        """How many rows came out the same, but for last places."""
        return sum(one in EXACT for one in self.agreement.values())

    @property
    def sentence(self) -> str:
        """What the re-made runs prove."""
        new = f"{count(self.new_runs, 'run')} of new seeds"
        if self.used_up:
            numbers = " or ".join(map(str, sorted({*self.used_up.values()})))
            why = f"all {numbers} data sets of a task are used"
            new = f"{new} (none where {why})" if self.new_runs else f"no new seeds exist ({why})"
        proves = f"{self.exact} of {self.rows} re-made, {new}"
        if others := len(self.agreement) - self.exact:
            proves += f", {others} statistically consistent on another processor"
        if self.exact:
            most = 100 * most_false(self.rows, self.exact) / self.rows
            proves += f": at most {most:.0f} % of rows can be false (95 %)"
        return proves


def most_false(rows: int, drawn: int) -> int:
    """The most rows that may be false where none of those that were drawn is, with 95 %."""
    false, all_draws = 0, math.comb(rows, drawn)
    while math.comb(rows - false - 1, drawn) > ALPHA * all_draws:
        false += 1
    return false


def enough(rows: int) -> int:
    """The fewest rows to draw, so that with 95 % a fifth of false rows does not pass."""
    return next(k for k in range(1, rows + 1) if most_false(rows, k) < FALSE_SHARE * rows)


def draw(rows: Sequence[Score], size: int | None, generator: Generator) -> list[Score]:
    """Rows of a method to make again: as many as are :func:`enough`, or of a size."""
    size = min(len(rows), enough(len(rows)) if size is None else size)
    return [rows[i] for i in sorted(generator.choice(len(rows), size, replace=False).tolist())]


def verify(
    rows: Sequence[Score],
    drawn: Sequence[Score],
    remade: Mapping[Key, Score],
    measured: Sequence[str],
    same_machine: bool,
    one_machine: bool = True,
    used_up: Mapping[str, int] | None = None,
) -> Verification:
    """Compare a method's rows with runs that were made again, and with runs of new seeds.

    Args:
        rows: the finished rows of the method.
        drawn: those that were made again.
        remade: the runs that were made: of these rows, and with new seeds.
        measured: names of the metrics of cost.
        same_machine: whether processor, versions and code are those of the rows.
        one_machine: whether all rows were made with the same: where one has the same bits, then,
            no other may differ.
        used_up: number of data sets of the tasks that have no new seeds; these show nothing of the
            public seeds' being better than others.
    """
    by_key = {(row.task, row.method, row.seed): row for row in rows}
    agreed = {}
    for row in drawn:
        own = remade.get((row.task, row.method, row.seed))
        cell = [s for s in remade.values() if s.task == row.task]
        agreed[row.run] = (
            Agreement.INCONSISTENT
            if own is None
            else agreement(row, own, cell, measured, len(drawn), same_machine)
        )
    if one_machine and Agreement.SAME_BITS in agreed.values():
        agreed = {
            run: Agreement.INCONSISTENT if one is Agreement.CONSISTENT else one
            for run, one in agreed.items()
        }
    new = [score for key, score in remade.items() if key not in by_key]
    others = [
        remade[row.task, row.method, row.seed]
        for row in drawn
        if agreed[row.run] is Agreement.CONSISTENT
    ]
    compared = [row for row in rows if row.task not in (used_up or {})]
    difference = _difference(compared, [*new, *others]) if new else None
    bars = [f"{run}: {Agreement.INCONSISTENT.value}" for run, one in agreed.items()
            if one is Agreement.INCONSISTENT]  # fmt: skip
    if len(drawn) < (needed := enough(len(rows))):
        bars.append(f"{len(drawn)} of {len(rows)} rows were re-made; {needed} are needed")
    if compared and difference is None:
        bars.append("new seeds: each task needs two public runs and two of new seeds, finished")
    elif difference and difference[1] > 0:
        bars.append("the public seeds score better than new ones: {:.3g} [{:.3g}, {:.3g}]".format(
            *difference))  # fmt: skip
    return Verification(len(rows), agreed, len(new), difference, tuple(bars), used_up or {})


def _difference(
    rows: Sequence[Score], remade: Sequence[Score]
) -> tuple[float, float, float] | None:
    """Mean over tasks of rows minus re-made runs, with Student's interval of ``1 − 2·LEVEL``.

    Of each task the larger of both variances counts: a few skewed returns have too small a one.
    """
    means, variance, degrees = [], 0.0, 0
    for task in sorted({row.task for row in rows}):
        x, y = (
            np.array([s.score for s in scores if s.task == task and is_finite(s.score)])
            for scores in (rows, remade)
        )
        if min(len(x), len(y)) < 2:
            return None
        means.append(float(x.mean() - y.mean()))
        variance += max(x.var(ddof=1), y.var(ddof=1)) * (1 / len(x) + 1 / len(y))
        degrees += len(x) + len(y) - 2
    mean = float(np.mean(means))
    reach = t_quantile(1 - LEVEL, degrees) * math.sqrt(variance) / len(means)
    reach += CLOSE * abs(mean) + 1e-12  # where nothing varies but last places
    return mean, mean - reach, mean + reach


def agreement(
    stored: Score,
    repeated: Score,
    others: Sequence[Score],
    measured: Sequence[str],
    among: int,
    same_machine: bool,
) -> Agreement:
    """Compare a run with its repetition.

    Args:
        stored: the row of the run.
        repeated: the row of its repetition.
        others: all repetitions of the run's task and method, this one included, and runs of it with
            new seeds: the tolerance is theirs, not the stored rows'.
        measured: names of the metrics of cost, which differ from run to run.
        among: how many runs are compared: all of them together err with :data:`LEVEL`.
        same_machine: whether processor, versions and code are the same; the numbers must be, then.
    """
    if stored.same_result(repeated, measured):
        return Agreement.SAME_BITS
    if stored.status != repeated.status:
        return Agreement.INCONSISTENT
    names = [name for name in stored.values if name not in measured]
    if all(_close(stored.values[name], repeated.values.get(name)) for name in names):
        return Agreement.LAST_PLACES
    usual = [score.score for score in others if is_finite(score.score)]
    score = stored.score
    if same_machine or not is_finite(score) or len(usual) < MINIMUM_SEEDS:
        return Agreement.INCONSISTENT
    n = len(usual)
    # Student's prediction interval of one more run, made wider
    reach = WIDER * t_quantile(1 - LEVEL / among / 2, n - 1) * float(np.std(usual, ddof=1))
    inside = abs(score - float(np.mean(usual))) <= reach * math.sqrt(1 + 1 / n)
    return Agreement.CONSISTENT if inside else Agreement.INCONSISTENT


def _close(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=CLOSE, abs_tol=1e-12) or (
        math.isnan(first) and math.isnan(second)
    )


def copies(scores: Sequence[Score]) -> list[str]:
    """Sentences on runs of different names whose results are the same, bit for bit."""
    names: dict[str, dict[tuple[str, str], str]] = {}
    for score in scores:
        if score.digest and score.digest_of == "results":
            names.setdefault(score.digest, {})[score.task, score.method] = score.run
    pairs = Counter(
        tuple(sorted(f"{task}/{method}" for task, method in same))
        for same in names.values()
        if len(same) > 1
    )
    return [
        f"{count(n, 'run')} of {' and '.join(pair)}: the same results" for pair, n in pairs.items()
    ]
