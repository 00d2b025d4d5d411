"""Durations of runs: expected from what each method costs, corrected while they run.

What a run costs is known from runs in the store, else from a stored board, else from the method's
runs of other tasks, else it is the suite's nominal time.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from uqbench.contract.config import CountsGradientSteps
from uqbench.contract.identity import Run
from uqbench.results.store import Store
from uqbench.runner import events
from uqbench.runner.batches import Batch
from uqbench.runner.resume import saved_step
from uqbench.suites.plan import Plan

LITTLE = 0.03
"""Share of the work that is assumed to have gone as expected before anything is observed, so that a
first batch of seconds does not predict hours."""
ANY_TASK, SCRIPT, STOPPED = "", 0.05, 0.02
"""In place of a task: all of a method's; a step of what does not learn, in a learner's; least share
of a core without being stopped."""
BATCH, RUN = 1.0, 0.03
"""Times of a batch's start and of storing a run, by what it takes to read plugins and suites."""


StepCosts = Mapping[tuple[str, str, str], tuple[float, str]]
"""By task, method and kind of device: seconds a step of a core or device, and who says so."""


def work(config: object, steps: int, first: int, last: int) -> int:
    """Units of work between two of a run's steps: gradient steps where the config counts some.

    Gradient steps may be ten times as dense early in a run as late (Eriksson et al. 2022).
    """
    if isinstance(config, CountsGradientSteps) and config.gradient_steps(steps):
        return config.gradient_steps(last) - config.gradient_steps(first)
    return last - first


def seconds_left(event: events.Progress) -> float | None:
    """Until a batch's steps are done, at their pace so far; None where none was seen.

    Seconds of a core: on a busy machine the clock takes more.
    """
    config, steps = event.batch.cell.config, event.batch.budget.steps
    done = work(config, steps, event.first, event.step)
    return event.seconds * work(config, steps, event.step, steps) / done if done else None


def rollouts_note(plan: Plan) -> str:
    """The price of a run's truth in rollouts; empty where it takes none."""
    asked = plan.budget.queries
    if not (asked and asked.states and asked.rollouts):
        return ""
    states, most = asked.states + 2 * (asked.early_states or asked.states), asked.most_rollouts
    number, end = states * (most or asked.rollouts), f"a reward counts less than {asked.tail}"
    return f"The truth of a run takes at most {number:,} rollouts of each action, until {end}."


class Forecast:
    """The expected duration of each run to do.

    Args:
        plan: of the runs.
        todo: the runs.
        store: holds earlier runs, and checkpoints.
        board: of a stored board, for runs of which the store has none.

    Attributes:
        saved: steps that a run resumes from, by its folder.
    """

    def __init__(self, plan: Plan, todo: Collection[Run], store: Store, board: StepCosts) -> None:
        self._plan, self.saved = plan, dict[str, int]()
        self._cells = {run: cell for cell in plan.cells for run in cell.runs if run in todo}
        self._learn = any(isinstance(c.config, CountsGradientSteps) for c in self._cells.values())
        times = defaultdict[tuple[str, str, str], list[float]](list)
        for place, stored in store.walk(plan.suite.name) if todo else ():
            if (record := stored.record) is None:
                continue
            if record.trained:
                self.saved[place] = record.step
            elif record.checkpoint is not None:
                self.saved[place] = saved_step(record, store) or 0
            _, budget, task, method, _ = place.split("/")
            if record.timing is not None and budget == plan.budget_name:
                device = str(record.identity.get("device"))
                for key in (task, method, device), (ANY_TASK, method, device):
                    times[key].append(1 / record.timing.steps_per_s)
        own = {key: (median(each), "the speed of earlier runs") for key, each in times.items()}
        self._known = {**board, **own}

    def _step_s(self, run: Run) -> tuple[float, str]:
        """Seconds a step, and what they are derived from."""
        budget, device = self._plan.budget, str(run.identity["device"])
        ms = budget.step_ms if device == "cpu" else budget.gpu_step_ms or budget.step_ms
        if self._learn and not isinstance(self._cells[run].config, CountsGradientSteps):
            ms *= SCRIPT  # the suite's is of learners
        nominal = ms / 1000, f"a nominal {ms:g} ms a step"
        other = self._known.get((ANY_TASK, run.method, device), nominal)
        return self._known.get((run.task, run.method, device), other)

    @property
    def basis(self) -> str:
        """The sources of the costs, in words; empty without runs."""
        return " and ".join(sorted({self._step_s(run)[1] for run in self._cells}))

    def cost(self, run: Run) -> float:
        """Seconds of a core or device for a unit of a run's work."""
        steps = self._plan.budget.on(self._cells[run].task).steps
        return self._step_s(run)[0] * steps / work(self._cells[run].config, steps, 0, steps)

    @property
    def seconds(self) -> float:
        """Seconds of a core or device for all runs."""
        return sum(self.by_method().values())

    def by_method(self) -> dict[str, float]:
        """Seconds by method, the slowest first, each run from where it resumes."""
        total: dict[str, float] = {}
        for run, cell in self._cells.items():
            steps = self._plan.budget.on(cell.task).steps
            units = work(cell.config, steps, self.saved.get(str(run.folder), 0), steps)
            total[run.method] = total.get(run.method, 0.0) + self.cost(run) * units
        return dict(sorted(total.items(), key=lambda item: -item[1]))


@dataclass
class _Course:
    """The progress of a batch.

    Attributes:
        cost: core seconds of a unit of its runs' work, as expected.
        start: steps, when it begins or resumes.
        at: by the clock, when it was heard of last; None while it waits.
        first: steps, and seconds since it began, at its first report: what came before, such as
            loading and compiling, says nothing about its pace.
        last: the same at the latest report.
        ended: whether it is done.
    """

    batch: Batch
    cost: float
    start: int
    at: float | None = None
    first: tuple[int, float] = (0, 0.0)
    last: tuple[int, float] = (0, 0.0)
    ended: bool = False

    def expected(self, first: int, last: int) -> float:
        """Core seconds between two steps."""
        units = work(self.batch.cell.config, self.batch.budget.steps, first, last)
        return self.cost * units * len(self.batch.runs)


class TimeLeft:
    """The time left while batches run: the forecast of each, corrected by what was observed.

    Methods differ in cost by more than tenfold, so a share of steps says little. What is left of a
    batch takes its forecast times the ratio of actual to forecast time of its method's batches, as
    far as they were observed; before that, times the mean ratio of the other methods, each weighted
    by the time that it took. To it comes what follows a batch's steps.

    Paces are of the time that a process computes. Waiting for a core is told apart
    (:attr:`busy`), and a process that somebody stopped counts as neither.

    Args:
        groups: what will run; the batches of a group are interleaved in one process.
        forecast: of their runs.
        processes: number of concurrent processes.
        clock: returns seconds.
        loading: core seconds that this process took to read plugins and suites: what is fixed
            takes a multiple of it, on a slow machine and on a fast one.

    Attributes:
        share: of the work that is done, when :meth:`left` was called last; it never falls.
        seen: seconds of steps that were observed until then, of methods that take long.
        busy: clock time over time of computing, while steps were observed.
        free: seconds that would be left if every process had a core, then.
    """

    def __init__(
        self,
        groups: Sequence[Collection[Batch]],
        forecast: Forecast,
        processes: int,
        clock: Callable[[], float] = time.monotonic,
        loading: float = 0.0,
    ) -> None:
        self.forecast, self._processes, self._loading = forecast, max(1, processes), loading
        self._clock, self.share, self.seen, self.busy, self.free = clock, 0.0, 0.0, 1.0, 0.0
        self._courses, self._walls, self._owns = dict[str, _Course](), 0.1, 0.1
        self._add(batch for group in groups for batch in group)

    def show(self, event: events.Event) -> None:
        """Process one event."""
        batch, now = event.batch, self._clock()
        if batch.name not in self._courses:
            self._add([batch])
        course = self._courses[batch.name]
        match event:
            case events.Started():
                self._courses[batch.name] = _Course(batch, course.cost, event.step, now)
            case events.Progress():
                gap, own = now - (course.at or 0.0), event.seconds - course.last[1]
                if course.first[0] and batch.device == "cpu" and own > STOPPED * gap:
                    self._walls, self._owns = self._walls + gap, self._owns + own
                course.at, course.last = now, (event.step, event.seconds)
                course.first = course.first if course.first[0] else course.last
            case events.Finished() | events.Failed() | events.Taken():
                course.ended = True
                if isinstance(event, events.Finished) and not course.last[0]:  # too short to report
                    course.first = course.start, 0.0
                    course.last = batch.budget.steps, event.seconds
            case events.Split():
                del self._courses[batch.name]
                self._add(event.parts)

    def left(self) -> float:
        """Seconds until all is done, with the machine as busy as it was."""
        spent, expected, little = (defaultdict[str, float](float) for _ in range(3))
        for course in self._courses.values():
            method, batch = course.batch.cell.method.name, course.batch
            spent[method] += course.last[1] - course.first[1]
            expected[method] += course.expected(course.first[0], course.last[0])
            little[method] += LITTLE * course.expected(course.start, batch.budget.steps)
        seen = [method for method in spent if expected[method]]
        # weighted by time, not by forecast: what takes none says nothing about the others
        ratios, weights = [spent[m] / expected[m] for m in seen], [spent[m] for m in seen]
        usual = fmean([1.0, *ratios], [sum(little.values()) or 1.0, *weights])
        self.seen = sum(spent[m] for m in seen if little[m] >= fmean(little.values()))
        self.busy, total = max(1.0, self._walls / self._owns), 0.0
        rests = list[tuple[bool, float]]()
        for course in self._courses.values():
            method, steps = course.batch.cell.method.name, course.batch.budget.steps
            factor = spent[method] + usual * little[method]
            factor /= expected[method] + little[method] or 1.0
            after = self._loading * (BATCH + RUN * len(course.batch.runs))
            total += factor * course.expected(course.start, steps) + after
            rest = factor * course.expected(course.last[0] or course.start, steps) + after
            since = 0.0 if course.at is None else (self._clock() - course.at) / self.busy
            if not course.ended:
                rests.append((course.at is not None, max(rest - since, 0.0)))
        whole, ends = sum(rest for _, rest in rests), [0.0] * self._processes
        for _, rest in rests:
            ends[ends.index(min(ends))] += rest
        self.free = max(ends)
        self.share = max(self.share, 1.0 - whole / total) if total else self.share
        # on a busy machine the last process is faster than each of several
        return self.busy * max(whole / self._processes, *(runs * rest for runs, rest in rests), 0.0)

    def _add(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            saved = self.forecast.saved.get(str(batch.runs[0].folder), 0)
            self._courses[batch.name] = _Course(batch, self.forecast.cost(batch.runs[0]), saved)
