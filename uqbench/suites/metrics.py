"""Metrics of a suite and what normalizes them."""

import math
import re
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, model_validator

from uqbench.suites.tables import Fraction, Name, Table, Task, TaskName, known

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Numbers = TypeVar("Numbers", float, "NDArray[np.float64]")
EPISODE_STATISTICS = ("return", "discounted_return", "length", "regret")
"""One number per episode; a metric's risk measure reduces them to one."""
EVENT_STATISTICS = ("events", "events_per_step", "events_per_episode", "episodes_with")
"""Statistics of an event that the environment counts, as in ``events/falls``."""
STATISTICS = (*EPISODE_STATISTICS, "area", "reward_per_step", "cumulative_regret")
_SHARE = re.compile(r"episodes_with/.*|(.*/)?(difference_)?coverage_\d+")
TRUTH_ERROR = "queries/truth_error"
"""Standard error of the truth: of what a run stores of its queries, so that its records stay."""
Group = Literal["return", "risk", "uncertainty"]
"""What a metric is about. Boards show these groups of columns, and never sum them."""
RECORDS = 100
"""Evenly spaced records of a run's metrics; a metric's window is a whole number of them."""


class Metric(Table):
    """One number per run.

    Attributes:
        kind: ``online`` (training), ``evaluation`` (the last evaluation), ``agent`` (what the agent
            reports, or is scored on, at the records of training), ``queries`` (the last score of
            what it predicts at query states), ``dataset`` (a score that a dataset computes),
            ``predictions`` (a registered score of stored predictions), or ``cost`` (measured, so it
            varies between machines).
        statistic: online: of the episodes that end in the window, ``return``,
            ``discounted_return``, ``length`` or ``regret``, the optimal return minus the return, or
            ``area``, the mean over ten parts of the window of the mean return in each, where a mean
            over episodes weighs a time of short ones more (unfinished episodes count where fewer
            ended in the last part); of its steps,
            ``reward_per_step``, or ``cumulative_regret``, what the optimal policy would have
            collected minus what was collected; of an event, ``events/NAME``, its total,
            ``events_per_step/NAME``, ``events_per_episode/NAME`` or ``episodes_with/NAME``, the
            share of episodes in which it occurs. Evaluation: those of episodes, and
            ``reward_per_step``. Agent: the name of its metric, averaged over the window's records.
            Queries: the name of the score, as in ``queries/crps``. Dataset and predictions: the
            name of the score. Cost: ``steps_per_s``, on one core or device.
        tasks: that it applies to, and has its mean over; None for all of the fitting kind.
        window: online and agent: the last fraction of training that counts.
        risk: the risk measure that reduces the episodes to one number, such as ``"cvar(0.25)"``.
        direction: whether higher (``max``) or lower (``min``) is better.
        normalized_as: the metric whose normalization constants this one uses; None for its own.
        group: what it is about, where that does not follow from its kind: see :attr:`about`.
        unit: of a score that a plugin's agent reports: ``return`` where it is in units of return,
            which have no mean over tasks.
        proper: of such a score: whether the true uncertainty has it best.
        lowest, highest: the least and the greatest value that a run can have, where there are such.
        fails_beyond: set where single runs may fail in another way than the rest: a run whose
            value is worse than this one has failed. The mean of such a metric is known only as far
            as its range allows, which must be set: see ``docs/claims.md``.
        may_fail: tasks on which alone single runs may fail, or not learn at all, with the least and
            the greatest value that a run can have there; the mean over tasks is then known only as
            far as these ranges allow.
        beside: whether pages show it beside the score: the mean of normalized values if it has
            constants, else of raw ones.
        title: the header of its column, where the name would mislead.
        margin: what matters in practice: differences of means below it, of scores where the metric
            is normalized, do not.
        margin_set: the day on which the margin was set; it counts for runs of later days.
    """

    name: Name
    summary: str
    kind: Literal["online", "evaluation", "agent", "queries", "dataset", "predictions", "cost"]
    statistic: str = "return"
    tasks: tuple[TaskName, ...] | None = None
    window: Fraction = 1.0
    risk: str = "expectation"
    direction: Literal["max", "min"] = "max"
    normalized_as: Annotated[str, known("normalization")] | None = None
    group: Group | None = None
    unit: Literal["return"] | None = None
    proper: bool = False
    lowest: float | None = None
    highest: float | None = None
    fails_beyond: float | None = None
    may_fail: Mapping[TaskName, tuple[float, float]] = {}
    beside: Annotated[bool, Field(exclude=True)] = False
    title: Annotated[str, Field(exclude=True)] = ""
    margin: Annotated[float, Field(gt=0)] | None = None
    margin_set: date | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        ends = [end for end in (self.lowest, self.fails_beyond, self.highest) if end is not None]
        if ends != sorted(ends):
            raise ValueError("expected lowest <= fails_beyond <= highest")
        if (self.margin is None) != (self.margin_set is None):
            raise ValueError("margin and margin_set: expected both, e.g. margin_set = '2026-11-23'")
        if self.fails_beyond is not None and self.bounds is None:
            raise ValueError("fails_beyond needs the range of values: lowest and highest")
        if not math.isclose(self.window * RECORDS, round(self.window * RECORDS)):
            raise ValueError(f"window: expected whole hundredths, got {self.window}")
        if self.risk.split("(")[0].strip() != "expectation" and (
            self.statistic not in EPISODE_STATISTICS
        ):
            known = ", ".join(EPISODE_STATISTICS)
            raise ValueError(f"risk: a measure needs a statistic of episodes, one of {known}")
        if self.kind == "evaluation" and self.statistic in ("area", "cumulative_regret"):
            raise ValueError(f"{self.statistic!r} is a statistic of training: kind = 'online'")
        for task, (low, high) in self.may_fail.items():
            if not low < high:
                raise ValueError(f"may_fail.{task}: expected [least, greatest], got {[low, high]}")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest of its values; infinite where there is no such end."""
        lowest = -math.inf if self.lowest is None else self.lowest
        return self.bounds or (lowest, math.inf if self.highest is None else self.highest)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The range of its values, that of shares for coverages and episodes with an event."""
        if self.lowest is not None and self.highest is not None:
            return self.lowest, self.highest
        return (0.0, 1.0) if _SHARE.fullmatch(self.statistic) else None

    def range_on(self, task: str) -> tuple[float, float] | None:
        """The range that the interval of a mean needs, where runs may fail or are shares."""
        if task in self.may_fail:
            return self.may_fail[task]
        needed = self.fails_beyond is not None or self.bounds == (0.0, 1.0)
        return self.bounds if needed else None

    def suits(self, task: Task) -> bool:
        """Whether the metric applies to such a task."""
        supervised = self.kind in ("dataset", "predictions")
        fits = self.kind == "cost" or supervised == (task.dataset is not None)
        return fits and (self.tasks is None or task.name in self.tasks)

    @property
    def event(self) -> tuple[str, str] | None:
        """The event's statistic and name; None where the metric is not about an event."""
        statistic, slash, name = self.statistic.partition("/")
        return (statistic, name) if slash and self.kind in ("online", "evaluation") else None

    @property
    def about(self) -> Group | None:
        """Its subject; None for costs, data sets, lengths and scores that agents report.

        Scores of what agents predict are of uncertainty; a risk measure other than the
        expectation, and events, such as falls, are of risk; other statistics of episodes and
        rewards are of return.
        """
        if self.group is not None:
            return self.group
        if self.kind == "queries" or self.statistic.startswith("uncertainty/"):
            return "uncertainty"
        if self.kind not in ("online", "evaluation") or self.statistic == "length":
            return None
        return "risk" if self.event or self.risk != "expectation" else "return"

    def definition(self) -> dict[str, Any]:
        """Everything the metric's values depend on; stored with every run scored by it."""
        return self.model_dump(mode="json", exclude=_INTERPRETATION)


_INTERPRETATION = {
    "summary", "normalized_as", "direction", "group", "unit", "proper", "lowest", "highest",
    "fails_beyond", "may_fail", "margin", "margin_set", "tasks",
}  # fmt: skip
"""What a metric's values do not depend on."""


class NormalizationConstants(Table):
    """The raw values of one task that normalize to 0 and 1; ``zero_se`` is a standard error."""

    zero: float
    one: float
    zero_se: float | None = None

    def normalize(self, raw: Numbers) -> Numbers:
        """``(raw − zero) / (one − zero)``, of a number or of each in an array."""
        return (raw - self.zero) / (self.one - self.zero)


class Normalization(Table):
    """Normalization constants of one metric by task; ``zero`` and ``one`` describe them."""

    version: str
    zero: str
    one: str
    constants: dict[TaskName, NormalizationConstants]
