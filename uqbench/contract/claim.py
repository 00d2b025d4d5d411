"""Kinds of claim: what a plugin implements so that suites can make claims of that kind.

A kind is a frozen dataclass whose fields are the keys of a ``[[claims]]`` table. It names the runs
it needs and compares them. It never reaches the verdict: the harness does, by one rule for all
kinds (``uqbench_claims.judge``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.errors import UqbenchError

Interval = tuple[float, float]
Paired = Literal["", "seeds", "runs"]
"""Methods that met the same of a seed: nothing; data, by which its tasks are one observation, too;
or a world of each task, and tasks are independent."""


class CannotCompareError(UqbenchError):
    """The runs exist, but cannot be compared as the claim asks; the message says why."""


class Measurement(Protocol):
    """A number estimated from runs, with its uncertainty."""

    @property
    def estimate(self) -> float:
        """The point estimate."""

    @property
    def runs(self) -> int:
        """Number of runs behind the estimate."""

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """The two-sided interval of level ``1 − alpha``; None where the runs allow none.

        Called with three seeds or more. With ``seeds``, the interval expected from that many seeds
        at the present estimate and spread.
        """


@dataclass(frozen=True)
class Region:
    """The open interval of numbers for which a claim is true."""

    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def between(cls, low: float | None, high: float | None) -> Region:
        """The region between two bounds, None for no bound."""
        return cls(-math.inf if low is None else low, math.inf if high is None else high)

    def __contains__(self, number: float) -> bool:
        return self.low < number < self.high


@dataclass(frozen=True)
class Comparison:
    """One number of a claim, and where it must lie.

    Attributes:
        about: what is compared, e.g. ``"ua-dqn over qr-dqn"``.
        statistic: what the number is, e.g. ``"probability of improvement"``.
        group: comparisons of one group must all be true, e.g. those on one task.
        difference: of means, where the sentence is about one.
        margin: differences below it do not matter.
    """

    about: str
    statistic: str
    measured: Measurement
    region: Region
    group: str = ""
    difference: Measurement | None = None
    margin: float | None = None


@dataclass(frozen=True)
class Evidence:
    """The evidence for a claim: ``at_least`` of the groups must be true; None for all of them."""

    comparisons: tuple[Comparison, ...]
    at_least: int | None = None


@dataclass(frozen=True, eq=False)
class Observations:
    """The finished runs that one claim is about: complete, and every value finite.

    Attributes:
        direction: whether a higher metric is better.
        tasks: the claim's tasks, in the suite's order.
        raw: the metric's values by (method, task), ``[runs]`` in the order of seeds.
        configs: the methods' configs by (method, task).
        task_configs: the tasks' configs.
        normalize: from a raw value to a score, by task; tasks on which the metric is not
            normalized are absent.
        ranges: the least and the greatest value that a run can have, by task where single runs may
            fail or the metric is a share: a mean is known there only as far as its range allows.
        margin: differences of the metric (normalized, where it is) below it do not matter.
        paired: whether methods met the same worlds or data sets of a seed, and these matter.
        shared: whether the runs of a batch share the metric, as they share its clock: a task is
            then one observation, however many runs it has.
    """

    direction: Literal["max", "min"]
    tasks: tuple[str, ...]
    raw: Mapping[tuple[str, str], NDArray[np.float64]]
    configs: Mapping[tuple[str, str], Mapping[str, Any]]
    task_configs: Mapping[str, Mapping[str, Any]]
    normalize: Mapping[str, Callable[[float], float]]
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    margin: float | None = None
    paired: Paired = ""
    shared: bool = False

    def values(self, method: str, tasks: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Raw values, ``[runs, tasks]``."""
        return np.stack([self.raw[method, task] for task in tasks or self.tasks], axis=1)

    def scores(self, method: str, tasks: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Normalized values, higher is better, ``[runs, tasks]``."""
        columns = [
            [self.normalize[task](value) for value in self.raw[method, task].tolist()]
            for task in tasks or self.tasks
        ]
        return np.array(columns, dtype=np.float64).T

    def signed(self, method: str, tasks: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Raw values, signed so that higher is better, ``[runs, tasks]``."""
        values = self.values(method, tasks)
        return values if self.direction == "max" else -values


@dataclass(frozen=True, kw_only=True)
class ClaimKind(ABC):
    """A claim's own keys, validated, and the comparisons that test it.

    Raise ``ValueError`` in ``__post_init__`` for values that contradict each other.

    Attributes:
        metric: name of the suite's metric that the claim is about.
        tasks: names of its tasks; None for all tasks of the budget that have the metric.
    """

    metric: str
    tasks: tuple[str, ...] | None = None

    @property
    @abstractmethod
    def named_methods(self) -> tuple[str, ...]:
        """The methods whose runs the claim needs; they need not be installed."""

    @property
    def published(self) -> bool:
        """Whether the runs are compared with a published number, whose place the source names."""
        return False

    def among(self, methods: Container[str]) -> ClaimKind | None:
        """The part of the claim that some methods' runs can tell of; None where there is none."""
        return self if all(name in methods for name in self.named_methods) else None

    def check(self, tasks: Sequence[str], normalized: Container[str]) -> None:
        """Raise ``ValueError`` where a suite lacks what the claim needs.

        Args:
            tasks: the claim's tasks under one of its budgets.
            normalized: tasks on which its metric is normalized.
        """
        return

    def check_seeds(self, seeds: int, tasks: Sequence[str], *, paired: Paired) -> None:
        """Raise ``ValueError`` where a budget can never decide the claim, whatever its runs say.

        Args:
            seeds: of the budget.
            tasks: that the claim is about under it.
            paired: whether the suite's methods are compared seed by seed.
        """
        return

    @abstractmethod
    def compare(self, observations: Observations) -> Evidence:
        """Compare the runs.

        Raises:
            CannotCompareError: these runs cannot be compared as the claim asks.
        """
