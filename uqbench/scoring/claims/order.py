"""``order``: who is better than whom."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal

from uqbench.claim import Comparison, Evidence, Measurement, Observations, Region
from uqbench.scoring.claims.concordance import concordance
from uqbench.scoring.claims.location import Difference, location
from uqbench.scoring.claims.per_task import TaskwiseKind, check_normalized


@dataclass(frozen=True, kw_only=True)
class Order(TaskwiseKind):
    """Every method of a tier is better than every method of the next.

    Attributes:
        methods: the tiers, the best first; a tier is a method or several.
        by: the probability of improvement (Agarwal et al. 2021) of raw values, or the difference
            of a statistic of the normalized scores.
        threshold: which it must be above; None for 1/2, or for 0 where it is a difference.
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
        """What the probability, or the difference, must be above."""
        if self.threshold is not None:
            return self.threshold
        return 0.5 if self.by == "improvement" else 0.0

    def check(self, tasks: Sequence[str], normalized: Container[str]) -> None:
        """Raise where scores are compared that are not normalized."""
        super().check(tasks, normalized)
        if self.by != "improvement":
            check_normalized(normalized, self.metric, tasks, f"by = {self.by!r}")

    def compare(self, observations: Observations) -> Evidence:
        """One comparison a pair of neighbouring tiers' methods, and a task if so asked."""
        statistic = (
            "probability of improvement" if self.by == "improvement" else f"difference of {self.by}"
        )
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

    def _measure(
        self, observations: Observations, better: str, worse: str, tasks: Sequence[str]
    ) -> Measurement:
        if self.by == "improvement":
            first, second = (observations.goodness(name, tasks) for name in (worse, better))
            return concordance([list(groups) for groups in zip(first.T, second.T, strict=True)])
        return Difference(
            location(observations.scores(better, tasks), self.by),
            location(observations.scores(worse, tasks), self.by),
        )
