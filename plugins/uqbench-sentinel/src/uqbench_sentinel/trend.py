"""``trend``: a metric that is monotone in a config value, at every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from uqbench_claims.kinds.order import check_concordance

from uqbench.contract.claim import (
    CannotCompareError,
    ClaimKind,
    Comparison,
    Evidence,
    Observations,
    Paired,
    Region,
)
from uqbench.contract.errors import did_you_mean
from uqbench.statistics.concordance import concordance


@dataclass(frozen=True, kw_only=True)
class Trend(ClaimKind):
    """The larger the setting, the larger (or smaller) the metric, from each value to the next.

    Attributes:
        methods: those that differ in the setting; along tasks, those that are looked at.
        direction: of the metric, as the setting grows.
        setting: a number in the methods' configs, or along tasks in theirs.
        values: instead of ``setting``, the numbers, in the order of ``methods`` or ``tasks``.
        along: what the points are.
        threshold: of the probability that of two runs at neighboring values the one with the
            larger value has the larger (or smaller) metric.

    Source: Jonckheere 1954
    """

    methods: tuple[str, ...]
    direction: Literal["increasing", "decreasing"]
    setting: str | None = None
    values: tuple[float, ...] | None = None
    along: Literal["methods", "tasks"] = "methods"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if (self.setting is None) == (self.values is None):
            raise ValueError("expected either 'setting' or 'values'")
        points = self.methods if self.along == "methods" else self.tasks
        if self.values is not None:
            if points is None or len(points) != len(self.values):
                raise ValueError(f"values: expected one for each of the {self.along}")
            if len(set(self.values)) < 2:
                raise ValueError("values: expected two that differ, or more")
        if not self.methods or (self.along == "methods" and len(self.methods) < 2):
            raise ValueError("methods: a trend needs two points or more")
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold: expected a number in (0, 1), got {self.threshold}")

    @property
    def named_methods(self) -> tuple[str, ...]:
        """All methods."""
        return self.methods

    def check_seeds(self, seeds: int, tasks: Sequence[str], *, paired: Paired) -> None:
        """Raise where no arrangement of so few runs is rare enough."""
        points = self.methods if self.along == "methods" else self.tasks or tasks
        steps = len(set(self.values)) - 1 if self.values is not None else len(points) - 1
        strata = len(tasks) if self.along == "methods" else len(self.methods)
        check_concordance(seeds, strata, self.threshold, max(steps, 1))

    def compare(self, observations: Observations) -> Evidence:
        """One comparison a step between neighboring values."""
        return Evidence(
            tuple(
                self._comparison(observations, step)
                for step in pairwise(self._points(observations))
            )
        )

    def _points(self, observations: Observations) -> list[tuple[float, tuple[str, ...]]]:
        """The values in ascending order, each with its methods or tasks."""
        names = self.methods if self.along == "methods" else observations.tasks
        if self.values is not None:
            # the claim's own order: observations have the suite's
            names = names if self.along == "methods" else self.tasks or ()
            valued = list(zip(self.values, names, strict=True))
        else:
            valued = [(self._setting(observations, name), name) for name in names]
        if len({value for value, _ in valued}) < 2:
            raise CannotCompareError(f"all {self.along} have the same {self.setting}")
        return [
            (value, tuple(name for _, name in same))
            for value, same in groupby(sorted(valued, key=lambda p: p[0]), key=lambda p: p[0])
        ]

    def _setting(self, observations: Observations, name: str) -> float:
        tables: list[Mapping[str, Any]]
        if self.along == "tasks":
            tables = [observations.task_configs[name]]
        else:
            tables = [observations.configs[name, task] for task in observations.tasks]
        numbers, setting = set(), str(self.setting)
        for table in tables:
            if setting not in table:
                near = did_you_mean(setting, table)
                raise CannotCompareError(f"{name} has no setting {setting!r}. {near}")
            value = table[setting]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise CannotCompareError(f"{setting} of {name} is no number: {value!r}")
            numbers.add(float(value))
        if len(numbers) > 1:
            raise CannotCompareError(f"{name} has another {setting} on some of the tasks")
        return numbers.pop()

    def _comparison(
        self, observations: Observations, points: Sequence[tuple[float, tuple[str, ...]]]
    ) -> Comparison:
        """The concordance of two values' runs."""
        sign = 1 if self.direction == "increasing" else -1

        def values(name: str, other: str) -> NDArray[np.float64]:
            cell = (name, other) if self.along == "methods" else (other, name)
            return sign * observations.raw[cell]

        strata = [
            [np.concatenate([values(name, other) for name in names]) for _, names in points]
            for other in (observations.tasks if self.along == "methods" else self.methods)
        ]
        name = "" if self.setting is None else f"{self.setting} "
        step = " → ".join(f"{value:g}" for value, _ in points)
        return Comparison(
            about=f"{self.metric} {self.direction} in {name}{step}",
            statistic="concordance",
            measured=concordance(strata),
            region=Region(low=self.threshold),
        )
