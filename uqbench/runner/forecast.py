"""How long runs will take: of a plan, before anything is executed, and of what is left of batches.

Gradient steps take most of the time and need not be spread evenly: updates after 1, 3, 6, 10, …
environment steps (Eriksson et al. 2022) are ten times as dense in the first thousand steps as in
all of a hundred thousand. So steps are weighed by the gradient steps that go with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from statistics import mean, median

from uqbench.config import CountsGradientSteps
from uqbench.identity import Run
from uqbench.results.store import RunState, Store, StoredRun
from uqbench.runner import events
from uqbench.runner.batching.batches import Batch
from uqbench.runner.checkpoints.saved import saved_step
from uqbench.runner.states import to_do
from uqbench.runner.timing import MethodSpeed, Speeds
from uqbench.suites.plan import Plan
from uqbench.suites.suite import Suite

FEW = 5
"""Stored runs whose size is looked up."""
ENOUGH = 0.05
"""Share of a batch's work after which its own pace counts."""
LITTLE = 0.01
"""Share of all work that is assumed to have gone as expected before anything is observed."""


@dataclass(frozen=True)
class Pace:
    """What the steps of one run take, in core seconds.

    Attributes:
        step_s: of an environment step; without ``gradient_steps``, with all that goes with it.
        gradient_step_s: of a gradient step.
        gradient_steps: how many there are in the first ``n`` environment steps; None: they are not
            counted.
    """

    step_s: float
    gradient_step_s: float = 0.0
    gradient_steps: Callable[[int], int] | None = None

    @classmethod
    def on_average(cls, step_s: float, steps: int, config: object) -> Pace:
        """From the mean time of a run's step, which goes into gradient steps as far as they count.

        Args:
            step_s: seconds of a step, the mean over a run.
            steps: of the run.
            config: the method's.
        """
        if isinstance(config, CountsGradientSteps) and config.gradient_steps(steps) > 0:
            each = step_s * steps / config.gradient_steps(steps)
            return cls(0.0, each, config.gradient_steps)
        return cls(step_s)

    @classmethod
    def measured(cls, speed: MethodSpeed, config: object) -> Pace:
        """Of a run that is as fast as was measured."""
        if isinstance(config, CountsGradientSteps) and speed.gradient_step_ms > 0:
            return cls(speed.step_ms / 1e3, speed.gradient_step_ms / 1e3, config.gradient_steps)
        return cls(speed.step_ms / 1e3)

    def seconds(self, first: int, last: int) -> float:
        """From step ``first`` to step ``last``."""
        counted = self.gradient_steps
        learning = 0 if counted is None else counted(last) - counted(first)
        return (last - first) * self.step_s + learning * self.gradient_step_s


def seconds_left(event: events.Progress) -> float | None:
    """Until a batch is done, at the pace of its steps so far; None where none was seen."""
    steps = event.batch.budget.steps
    pace = Pace.on_average(1.0, steps, event.batch.cell.config)
    done = pace.seconds(event.first, event.step)
    return event.seconds * pace.seconds(event.step, steps) / done if done > 0 else None


@dataclass(frozen=True)
class Forecast:
    """Wall time in seconds, and what it is derived from.

    Attributes:
        seconds: until all is done, with all processes at work.
        basis: in words.
        core_seconds: of each run to do, from where it resumes.
        paces: how these are spread over its steps.
    """

    seconds: float
    basis: str
    core_seconds: Mapping[Run, float] = field(default_factory=dict)
    paces: Mapping[Run, Pace] = field(default_factory=dict)

    def by_method(self) -> dict[str, float]:
        """Core seconds by method, the slowest first."""
        total: dict[str, float] = {}
        for run, seconds in self.core_seconds.items():
            total[run.method] = total.get(run.method, 0.0) + seconds
        return dict(sorted(total.items(), key=lambda item: -item[1]))


def forecast(
    plan: Plan,
    todo: Collection[Run],
    store: Store,
    workers: int,
    measured: Mapping[str, MethodSpeed] | None = None,
) -> Forecast:
    """The wall time of some of a plan's runs on ``workers`` processes.

    The mean time of a step is that of earlier runs of the method on the task under the budget;
    without any, it follows from what a step and a gradient step were measured to take on this
    machine; else it is the nominal time, times the ratio of actual to nominal time in other
    budgets' runs, whose gradient steps may be denser; else the nominal time.

    Args:
        plan: what was planned.
        todo: the runs to do.
        store: holds earlier runs.
        workers: processes.
        measured: speeds by method.
    """
    slowness, saved = _earlier(plan.suite, store) if todo else ({}, {})
    configs = {(cell.task.name, cell.method.name): cell.config for cell in plan.cells}
    core_seconds: dict[Run, float] = {}
    paces: dict[Run, Pace] = {}
    bases = set()
    for run in todo:
        by_budget = slowness.get((run.task, run.method, str(run.identity["device"])), {})
        steps = plan.budget.task_steps.get(run.task, plan.budget.steps)
        config = configs.get((run.task, run.method))
        start, ratios = 0.0, by_budget.get(plan.budget_name, ())
        speed = None if ratios else (measured or {}).get(run.method)
        if ratios:
            bases.add("the speed of earlier runs")
        elif speed is not None:
            bases.add("what a step of each method takes here")
        elif ratios := [ratio for ratios in by_budget.values() for ratio in ratios]:
            bases.add("the speed of runs of other budgets")
        else:
            bases.add(f"a nominal {plan.budget.step_ms:g} ms a step")
        if speed is None:
            step_s = plan.budget.step_ms / 1000 * median(ratios or [1.0])
            pace = Pace.on_average(step_s, steps, config)
        else:
            pace, start = Pace.measured(speed, config), speed.start_s / speed.lanes
        core_seconds[run] = start + pace.seconds(saved.get(run.folder, 0), steps)
        paces[run] = pace
    processes = max(1, min(workers, len(todo)))
    seconds = sum(core_seconds.values()) / processes
    return Forecast(seconds, " and ".join(sorted(bases)), core_seconds, paces)


Slowness = Mapping[tuple[str, str, str], Mapping[str, Sequence[float]]]
"""Ratio of measured to nominal time of a step, by (task, method, device) and budget."""


def _earlier(suite: Suite, store: Store) -> tuple[Slowness, Mapping[PurePosixPath, int]]:
    """From stored runs: their slowness, and the checkpointed steps of unfinished ones."""
    slowness: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    saved: dict[PurePosixPath, int] = {}
    for folder, stored in store.records(suite.name):
        record = stored.record
        if record is not None and record.checkpoint is not None:
            saved[folder] = saved_step(record, store) or 0
        if record is None or record.timing is None:
            continue
        _, budget, task, method, _ = folder.parts
        if budget in suite.budgets:
            nominal = suite.budgets[budget].step_ms / 1000
            of_cell = slowness.setdefault((task, method, str(record.identity.get("device"))), {})
            of_cell.setdefault(budget, []).append(1 / (record.timing.steps_per_s * nominal))
    return slowness, saved


@dataclass(frozen=True)
class MethodCost:
    """What is left of a method.

    Attributes:
        to_do: runs to execute.
        have: runs that need not be.
        seconds: of one core, for the runs to execute.
        megabytes: memory of a run; None where it was not measured yet.
        disk: megabytes of the runs to execute once they are stored, as large as those that are;
            None where there are none.
    """

    method: str
    to_do: int
    have: int
    seconds: float
    megabytes: float | None
    disk: float | None


def costs(
    plan: Plan, states: Mapping[Run, StoredRun], store: Store
) -> tuple[list[MethodCost], Forecast]:
    """What is left of each method of a plan, the slowest first, and of all on one core.

    Args:
        plan: what was planned.
        states: what is stored of its runs.
        store: holds earlier runs.
    """
    todo, known = to_do(states), Speeds(store.root).of(plan)
    alone = forecast(plan, todo, store, 1, known)
    seconds = dict.fromkeys((cell.method.name for cell in plan.cells), 0.0) | alone.by_method()
    methods = []
    for name in sorted(seconds, key=lambda name: -seconds[name]):
        runs = [run for run in plan.runs if run.method == name]
        left = sum(run in todo for run in runs)
        stored = [run for run in runs if states[run].state is RunState.FINISHED][:FEW]
        sizes = [
            sum(one[0] for one in folder.signatures(*folder.kinds()) if one is not None)
            for folder in (store.at(run.place) for run in stored)
        ]
        memory = known[name].megabytes if name in known else None
        disk = left * mean(sizes) / 1e6 if sizes else None
        methods.append(MethodCost(name, left, len(runs) - left, seconds[name], memory, disk))
    return methods, alone


@dataclass
class _Course:
    """The progress of a batch.

    Attributes:
        expected: core seconds, from where it resumes.
        pace: how they are spread over its steps; only ratios count.
        together: batches whose steps are interleaved with its own.
        began: by the clock; None while it waits.
        start: steps, when it began.
        first: steps, and seconds since it began, at its first progress report.
        last: the same at the latest report.
        done: seconds that it took; None until it is done.
    """

    steps: int
    expected: float
    method: str
    pace: Pace
    together: int = 1
    began: float | None = None
    start: int = 0
    first: tuple[int, float] = (0, 0.0)
    last: tuple[int, float] = (0, 0.0)
    done: float | None = None

    def share(self, first: int, last: int) -> float:
        """Share of the work, from where it resumed, that lies between two steps."""
        whole = self.pace.seconds(self.start, self.steps)
        return self.pace.seconds(first, last) / whole if whole else 0.0

    @property
    def seen(self) -> float:
        """Share of the work whose pace was observed."""
        return 0.0 if self.first == self.last else self.share(self.first[0], self.last[0])

    def ratio(self) -> tuple[float, float]:
        """Core seconds that it took, as far as they were observed, and those expected."""
        if self.done is not None:
            return self.done / self.together, self.expected if self.done else 0.0
        if self.seen < ENOUGH:
            return 0.0, 0.0
        return (self.last[1] - self.first[1]) / self.together, self.expected * self.seen

    def left(self, now: float, factor: float) -> float:
        """Core seconds left, if its kind takes ``factor`` times what was expected.

        An expectation that was used up before the steps were taken was wrong, and the batch's own
        pace counts, however short it was observed.
        """
        if self.done is not None:
            return 0.0
        spent = 0.0 if self.began is None else now - self.began
        expected, used = self.expected * factor, spent / self.together
        if not self.seen or (self.seen < ENOUGH and used < expected):
            unseen = 1.0 - self.share(self.start, max(self.start, self.last[0]))
            return max(expected - used, expected * unseen)
        seconds = (self.last[1] - self.first[1]) / self.seen
        rest = self.share(self.last[0], self.steps) * seconds
        return max(rest - (spent - self.last[1]), 0.0) / self.together


class TimeLeft:
    """The time left while batches run: the forecast of each, corrected by what was observed.

    Methods differ in cost by more than tenfold, so a share of steps says little. The time left is a
    sum over batches: a running one continues at its own pace; a waiting one takes its forecast
    times the ratio of actual to forecast time of its method's batches, or, before there is one, of
    all batches.

    Args:
        groups: what will run; the batches of a group are interleaved in one process.
        expected: what each run takes.
        processes: number of concurrent processes.
        clock: returns seconds.
    """

    def __init__(
        self,
        groups: Sequence[Iterable[Batch]],
        expected: Forecast,
        processes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._forecast, self._processes = clock, expected, max(1, processes)
        together = [list(group) for group in groups]
        self._courses = {
            batch.name: self._course(batch, len(group)) for group in together for batch in group
        }
        self._total = sum(course.expected for course in self._courses.values())

    def show(self, event: events.Event) -> None:
        """Process one event."""
        batch, now = event.batch, self._clock()
        course = self._courses.setdefault(batch.name, self._course(batch, 1))
        match event:
            case events.Started():
                restarted = self._course(batch, course.together)
                restarted.began, restarted.start = now, event.step
                self._courses[batch.name] = restarted
            case events.Progress() if event.step > course.start:
                unseen = not course.last[0]
                course.last = (event.step, event.seconds)
                course.first = course.last if unseen else course.first
            case events.Finished():
                course.done = 0.0 if course.began is None else now - course.began
            case events.Failed() | events.Taken():
                course.done = 0.0
            case events.Split():
                del self._courses[batch.name]
                self._courses |= {part.name: self._course(part, 1) for part in event.parts}

    def left_of(self, batch: Batch) -> float:
        """Seconds until a batch that runs is done."""
        course = self._courses[batch.name]
        return course.left(self._clock(), self._factor(course.method)) * course.together

    def left(self) -> float:
        """Seconds until all is done."""
        now, courses = self._clock(), self._courses.values()
        factors = {name: self._factor(name) for name in {course.method for course in courses}}
        rest = [(course, course.left(now, factors[course.method])) for course in courses]
        longest = max((left for course, left in rest if course.began is not None), default=0.0)
        return max(sum(left for _, left in rest) / self._processes, longest)

    def _factor(self, method: str) -> float:
        """Actual over expected seconds of a method, or of all where none of it was observed.

        A small share of all work is assumed to have gone as expected, so that a first batch of
        seconds does not predict hours.
        """
        ratios = [(course.method, course.ratio()) for course in self._courses.values()]
        own = [ratio for name, ratio in ratios if name == method]
        if not sum(expected for _, expected in own):
            own = [ratio for _, ratio in ratios] + [(LITTLE * self._total, LITTLE * self._total)]
        expected = sum(expected for _, expected in own)
        return sum(took for took, _ in own) / expected if expected else 1.0

    def _course(self, batch: Batch, together: int) -> _Course:
        expected = sum(self._forecast.core_seconds.get(run, 0.0) for run in batch.runs)
        pace = self._forecast.paces.get(batch.runs[0], Pace(1.0))
        return _Course(batch.budget.steps, expected, batch.cell.method.name, pace, together)
