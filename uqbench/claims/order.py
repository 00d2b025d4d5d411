"""``order``: who is better than whom."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal

from uqbench.claim import Comparison, Evidence, Measurement, Observations, Region
from uqbench.claims.per_task import TaskwiseKind, check_normalized
from uqbench.statistics.concordance import check_permutations, concordance
from uqbench.statistics.location import Difference, location
from uqbench.statistics.paired import PairedDifference
from uqbench.statistics.proportion import Proportion, check_trials


@dataclass(frozen=True, kw_only=True)
class Order(TaskwiseKind):
    """Every method of a tier is better than every method of the next.

    Attributes:
        methods: the tiers, the best first; a tier is a method or several.
        by: the probability of improvement (Agarwal et al. 2021) of raw values, or the difference
            of a statistic of the normalized scores.
        threshold: which it must be above; None for 1/2, or for 0 where it is a difference.
        paired: whether runs of the same seed are compared with each other; None for what the suite
            says of its worlds and data sets. Of differences only those of the mean can be.
    """

    methods: tuple[str | tuple[str, ...], ...]
    by: Literal["improvement", "iqm", "mean", "median"] = "improvement"
    threshold: float | None = None
    paired: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.paired and self.by not in ("improvement", "mean"):
            raise ValueError(
                f"paired = true goes with by = 'improvement' or 'mean', not {self.by!r}"
            )
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
        """What the probability, or the difference, must be above."""
        if self.threshold is not None:
            return self.threshold
        return 0.5 if self.by == "improvement" else 0.0

    def check(self, tasks: Sequence[str], normalized: Container[str]) -> None:
        """Raise where scores are compared that are not normalized."""
        super().check(tasks, normalized)
        by_sign = self._on_one_task(tasks) and self.boundary == 0
        if self.by != "improvement" and not by_sign:
            check_normalized(normalized, self.metric, tasks, f"by = {self.by!r}")

    def check_seeds(self, seeds: int, tasks: Sequence[str], *, paired: bool) -> None:
        """Raise where no arrangement, or sign pattern, of so few runs is rare enough."""
        comparisons = len(list(self.groups(tasks))) * sum(
            len(upper) * len(lower) for upper, lower in pairwise(self.tiers)
        )
        together = 1 if self.per_task else len(tasks)
        if not self._is_paired(paired):
            if self.by == "improvement":
                check_permutations(seeds, together, comparisons)
        elif self.by == "improvement":
            check_trials(seeds, self.boundary, comparisons)

    def compare(self, observations: Observations) -> Evidence:
        """One comparison a pair of neighboring tiers' methods, and a task if so asked."""
        statistic = (
            "probability of improvement" if self.by == "improvement" else f"difference of {self.by}"
        )
        if self._is_paired(observations.paired):
            statistic = f"paired {statistic}"
        comparisons = [
            Comparison(
                about=f"{better} over {worse}",
                statistic=statistic,
                measured=self._measure(observations, better, worse, tasks),
                region=Region(low=self.boundary),
                group=group,
            )
            for group, tasks in self.groups(observations.tasks)
            for upper, lower in pairwise(self.tiers)
            for better, worse in product(upper, lower)
        ]
        return Evidence(tuple(comparisons), self.at_least)

    def _is_paired(self, suite: bool) -> bool:
        """Whether runs are compared seed by seed, in a suite that does so or not."""
        return (
            self.paired if self.paired is not None else suite and self.by in ("improvement", "mean")
        )

    def _on_one_task(self, tasks: Sequence[str]) -> bool:
        return self.per_task or len(tasks) == 1

    def _measure(
        self, observations: Observations, better: str, worse: str, tasks: Sequence[str]
    ) -> Measurement:
        paired = self._is_paired(observations.paired)
        if self.by == "improvement":
            first, second = (observations.signed(name, tasks) for name in (worse, better))
            if paired:
                return Proportion.of_seeds((second > first) + 0.5 * (second == first), methods=2)
            return concordance([list(groups) for groups in zip(first.T, second.T, strict=True)])
        # on one task raw values say who is better as well as scores do, at the threshold 0
        normalized = all(task in observations.normalize for task in tasks)
        of = observations.scores if normalized else observations.signed
        if paired:
            return PairedDifference.between(of(better, tasks), of(worse, tasks))
        return Difference(location(of(better, tasks), self.by), location(of(worse, tasks), self.by))
