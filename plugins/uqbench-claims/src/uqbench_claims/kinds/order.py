"""``order``: who is better than whom."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, product
from operator import neg
from typing import Literal

from uqbench.contract.claim import (
    CannotCompareError,
    Comparison,
    Evidence,
    Measurement,
    Observations,
    Paired,
    Region,
)
from uqbench.contract.wording import count
from uqbench.statistics.bounded import difference, scaled, share
from uqbench.statistics.concordance import Concordance, concordance
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.location import location, paired_difference
from uqbench_claims.kinds.per_task import TaskwiseKind, check_normalized
from uqbench_claims.kinds.share import check_shares


@dataclass(frozen=True, kw_only=True)
class Order(TaskwiseKind):
    """Every method of a tier is better than every method of the next.

    Attributes:
        methods: the tiers, the best first; a tier is a method or several.
        by: the probability of improvement (Agarwal et al. 2021) of raw values, or the difference
            of a statistic of the normalized scores.
        threshold: which it must be above; None for 1/2, or for 0 where it is a difference.

    Source: Agarwal et al. 2021
    """

    methods: tuple[str | tuple[str, ...], ...]
    by: Literal["improvement", "iqm", "mean", "median"] = "improvement"
    threshold: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.named_methods
        if len(self.methods) < 2 or not all(self.tiers):
            raise ValueError("methods: expected two tiers or more, the best first, none empty")
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"methods: {name!r} is named more than once")
        if self.by == "improvement" and not 0 < self.boundary < 1:
            raise ValueError(f"threshold: expected a number in (0, 1), got {self.boundary}")

    @property
    def tiers(self) -> list[tuple[str, ...]]:
        """The tiers, each as a tuple."""
        return [(tier,) if isinstance(tier, str) else tier for tier in self.methods]

    @property
    def named_methods(self) -> tuple[str, ...]:
        """All methods, the best first."""
        return tuple(name for tier in self.tiers for name in tier)

    @property
    def boundary(self) -> float:
        """The number that the probability, or the difference, must exceed."""
        if self.threshold is not None:
            return self.threshold
        return 0.5 if self.by == "improvement" else 0.0

    def among(self, methods: Container[str]) -> Order | None:
        """The order of those of its methods that are among some; None where it compares none."""
        tiers = [tuple(name for name in tier if name in methods) for tier in self.tiers]
        runs = [tuple(run) for some, run in groupby(tiers, bool) if some]  # neighbors stay so
        left = max(runs, key=len, default=())
        return replace(self, methods=left) if len(left) > 1 else None

    def check(self, tasks: Sequence[str], normalized: Container[str]) -> None:
        """Raise where scores are compared that are not normalized."""
        super().check(tasks, normalized)
        by_sign = (self.per_task or len(tasks) == 1) and self.boundary == 0
        if self.by != "improvement" and not by_sign:
            check_normalized(normalized, self.metric, tasks, f"by = {self.by!r}")

    def check_seeds(self, seeds: int, tasks: Sequence[str], *, paired: Paired) -> None:
        """Raise where no arrangement of so few runs is rare enough."""
        comparisons = len(list(self.groups(tasks))) * sum(
            len(upper) * len(lower) for upper, lower in pairwise(self.tiers)
        )
        if self.by != "improvement":
            return
        if paired:
            check_shares(seeds, self.boundary, comparisons)
        else:
            together = 1 if self.per_task else len(tasks)
            check_concordance(seeds, together, self.boundary, comparisons)

    def compare(self, observations: Observations) -> Evidence:
        """One comparison a pair of neighboring tiers' methods, and a task if so asked."""
        statistic = (
            "probability of improvement" if self.by == "improvement" else f"difference of {self.by}"
        )
        if observations.paired:
            statistic = f"paired {statistic}"
        comparisons = [
            Comparison(
                about=f"{better} over {worse}",
                statistic=statistic,
                measured=self._measure(observations, better, worse, tasks),
                region=Region(low=self.boundary),
                group=group,
                # where the sentence is that there is one at all
                difference=self._difference(observations, better, worse, tasks)
                if self.threshold is None
                else None,
                margin=observations.margin,
            )
            for group, tasks in self.groups(observations.tasks)
            for upper, lower in pairwise(self.tiers)
            for better, worse in product(upper, lower)
        ]
        return Evidence(tuple(comparisons), self.at_least)

    def _measure(
        self, observations: Observations, better: str, worse: str, tasks: Sequence[str]
    ) -> Measurement:
        if self.by != "improvement":
            measured = self._difference(observations, better, worse, tasks)
            if measured is None:  # ``check`` has looked at the tasks of the claim's own budget
                raise CannotCompareError(f"{self.metric} of {', '.join(tasks)} has no common scale")
            return measured
        first, second = (observations.signed(name, tasks) for name in (worse, better))
        if observations.paired:
            return share((second > first) + 0.5 * (second == first), methods=2)
        return concordance([list(groups) for groups in zip(first.T, second.T, strict=True)])

    def _difference(
        self, observations: Observations, better: str, worse: str, tasks: Sequence[str]
    ) -> Measurement | None:
        """The difference of means, or of the statistic; None where tasks have no common scale.

        On one task raw values say who is better as well as scores do.
        """
        by = "mean" if self.by == "improvement" else self.by
        if all(task in observations.normalize for task in tasks):
            of, scales = observations.scores, [observations.normalize[task] for task in tasks]
        elif len(tasks) == 1:
            of, scales = observations.signed, [float if observations.direction == "max" else neg]
        else:
            return None
        first, second = of(better, tasks), of(worse, tasks)
        ranges = scaled([observations.ranges.get(task) for task in tasks], scales)
        if by == "mean" and ranges is not None:
            return difference(first, second, ranges, observations.paired)
        if observations.paired:
            return paired_difference(first, second, by, observations.paired)
        return location(first, by).plus(-1.0, location(second, by))


def check_concordance(seeds: int, tasks: int, threshold: float, comparisons: int) -> None:
    """Raise ``ValueError`` where runs of two groups of ``seeds`` can be on neither side."""
    apart = Concordance(1.0, 0.0, 1.0, ((seeds, seeds),) * tasks)
    reach = apart.interval(ALPHA / comparisons)[0]
    if reach <= threshold and 1 - reach >= threshold:
        raise ValueError(
            f"{seeds} seeds can never decide it: {count(comparisons, 'comparison')} of {seeds} "
            f"runs with {seeds} on {count(tasks, 'task')} at 95 % together; state it by = 'mean', "
            f"or of fewer methods or tasks, or give the budget more seeds"
        )
