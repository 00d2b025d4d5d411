"""The time left while batches run: the estimate of each, corrected by what was observed.

Methods differ in cost by more than tenfold, so a share of steps says little. The time left is a sum
over batches: a running one continues at its own pace; a waiting one takes its estimate times the
ratio of actual to estimated time of its method's batches, or, before there is one, of all batches.
Steps differ, too: they are weighed by the gradient steps that go with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from uqbench.runner import events
from uqbench.runner.batching.batches import Batch
from uqbench.runner.estimates import Estimate
from uqbench.runner.pace import Pace

ENOUGH = 0.05
"""Share of a batch's work after which its own pace counts."""
EVEN = Pace(1.0)
LITTLE = 0.01
"""Share of all work that is assumed to have gone as estimated before anything is observed."""


@dataclass
class _Course:
    """The progress of a batch.

    Attributes:
        expected: core seconds, from where it resumes.
        pace: how they are spread over its steps; only ratios count.
        began: by the clock; None while it waits.
        first: steps, and seconds since it began, at its first progress report.
        last: the same at the latest report.
        together: batches whose steps take turns with its own.
    """

    steps: int
    expected: float
    method: str
    together: int
    pace: Pace
    began: float | None = None
    start: int = 0
    first: tuple[int, float] | None = None
    last: tuple[int, float] | None = None
    done: float | None = None

    def left(self, now: float, factor: float) -> float:
        """Core seconds left, if its kind takes ``factor`` times its estimate.

        An estimate that was used up before its steps were taken was wrong, and its own pace counts,
        however short it was observed.
        """
        if self.done is not None:
            return 0.0
        spent = 0.0 if self.began is None else now - self.began
        estimate, used = self.expected * factor, spent / self.together
        if self.first is None or self.last is None or self.first == self.last:
            return max(estimate - used, estimate * self.share_left)
        if self.own_share < ENOUGH and used < estimate:
            return max(estimate - used, estimate * self.share_left)
        done, seconds = self.pace.seconds(self.first[0], self.last[0]), self.last[1] - self.first[1]
        if done == 0:
            return max(estimate - used, estimate * self.share_left)
        rest = self.pace.seconds(self.last[0], self.steps) * seconds / done
        return max(rest - (spent - self.last[1]), 0.0) / self.together

    @property
    def share_left(self) -> float:
        """Share of its work that is not done, from where it resumed."""
        whole = self.pace.seconds(self.start, self.steps)
        done = 0.0 if self.last is None else self.pace.seconds(self.start, self.last[0])
        return 1.0 - done / whole if whole else 0.0

    @property
    def own_share(self) -> float:
        """Share of its work whose pace was observed."""
        if self.first is None or self.last is None:
            return 0.0
        return self.pace.seconds(self.first[0], self.last[0]) / self.pace.seconds(0, self.steps)

    @property
    def observed(self) -> tuple[float, float]:
        """Core seconds that it took so far, as far as it was observed, and those expected."""
        assert self.first is not None
        assert self.last is not None
        seen = self.pace.seconds(self.first[0], self.last[0])
        share = seen / self.pace.seconds(self.start, self.steps)
        return (self.last[1] - self.first[1]) / self.together, self.expected * share


class TimeLeft:
    """Estimates the time left from the events of the batches.

    Args:
        groups: what will run; the batches of a group take turns in one process.
        estimate: of what each run takes.
        processes: number of concurrent processes.
        clock: returns seconds.
    """

    def __init__(
        self,
        groups: Sequence[Iterable[Batch]],
        estimate: Estimate,
        processes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._processes = max(1, processes)
        self._estimate = estimate
        self._courses: dict[str, _Course] = {}
        for group in groups:
            batches = list(group)
            for batch in batches:
                self._courses[batch.name] = self._course(batch, len(batches))
        self._total = sum(course.expected for course in self._courses.values())

    def show(self, event: events.Event) -> None:
        """Process one event."""
        batch, now = event.batch, self._clock()
        course = self._courses.setdefault(batch.name, self._course(batch, 1))
        match event:
            case events.Started():
                course.began, course.start = now, event.step
                course.first = course.last = course.done = None
            case events.Progress() if event.step > course.start:
                course.last = event.step, event.seconds
                course.first = course.first or course.last
            case events.Finished():
                course.done = now - (now if course.began is None else course.began)
            case events.Failed() | events.Taken():
                course.done, course.expected = 0.0, 0.0
            case events.Split():
                del self._courses[batch.name]
                for part in event.parts:
                    self._courses[part.name] = self._course(part, 1)

    def left_of(self, batch: Batch) -> float:
        """Seconds until a batch that runs is done."""
        factors, course = self._factors(), self._courses[batch.name]
        factor = factors.get(course.method, factors.get(None, 1.0))
        return course.left(self._clock(), factor) * course.together

    def left(self) -> float:
        """Seconds until all is done."""
        now, factors = self._clock(), self._factors()
        overall = factors.get(None, 1.0)
        rest = [
            (course, course.left(now, factors.get(course.method, overall)))
            for course in self._courses.values()
        ]
        longest = max((left for course, left in rest if course.began is not None), default=0.0)
        return max(sum(left for _, left in rest) / self._processes, longest)

    def _factors(self) -> dict[str | None, float]:
        """Actual over estimated seconds by method, and of all under None.

        A small share of the work is assumed to have gone as estimated, so that a first batch of
        seconds does not predict hours.
        """
        little = LITTLE * self._total
        seen: dict[str | None, tuple[float, float]] = {None: (little, little)}
        for course in self._courses.values():
            if course.done:
                taken, expected = course.done / course.together, course.expected
            elif course.first and course.last and course.own_share >= ENOUGH:
                taken, expected = course.observed
            else:
                continue
            for key in (None, course.method):
                before = seen.get(key, (0.0, 0.0))
                seen[key] = before[0] + taken, before[1] + expected
        return {key: taken / expected for key, (taken, expected) in seen.items() if expected}

    def _course(self, batch: Batch, together: int) -> _Course:
        expected = sum(self._estimate.core_seconds.get(run, 0.0) for run in batch.runs)
        pace = self._estimate.paces.get(batch.runs[0], EVEN)
        return _Course(batch.budget.steps, expected, batch.cell.method.name, together, pace)
