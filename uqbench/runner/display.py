"""Progress on stderr: one live line on a terminal, a line a minute elsewhere."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from uqbench.contract.wording import count, duration, fitted, visible
from uqbench.runner import events
from uqbench.runner.batches import BatchGroup
from uqbench.runner.forecast import Forecast, TimeLeft
from uqbench.runner.watcher import Watcher

LINE_SECONDS = 60.0
SEEN_SECONDS = 1.0
"""Real steps before it is said how long all takes: stored speeds are another machine's."""
AROUND, ROW = 4.0, 0.01
"""Times of that itself, board and report, and of a run in these, by reading plugins and suites."""


class Terminal(Watcher):
    """Tells on stderr what is done."""

    def say(self, *lines: str) -> None:
        """Print lines; whatever is in one, it stays one line."""
        for line in lines:
            print(fitted(visible(line), sys.stderr), file=sys.stderr, flush=True)

    @contextmanager
    def watch(
        self, groups: Sequence[BatchGroup], expected: Forecast, processes: int
    ) -> Iterator[Callable[[events.Event], None]]:
        """Show progress while groups are executed."""
        console = Console(stderr=True)
        if console.is_jupyter:  # each line by rich would be an output of the cell, and bars many
            console = Console(stderr=True, force_jupyter=False, force_terminal=False)
        bar = BarColumn(bar_width=None, table_column=Column(min_width=10, max_width=30))
        columns = TextColumn("all runs"), bar, TextColumn("{task.description}")
        with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
            loading, runs = time.process_time(), sum(len(b.runs) for group in groups for b in group)
            left = TimeLeft(groups, expected, processes, loading=loading)
            yield _Display(left, loading * (AROUND + ROW * runs), bars).show


class _Display:
    """Shows how far all runs are, their steps/s and the time left; and what went wrong."""

    def __init__(self, time_left: TimeLeft, afterwards: float | None, bars: Progress) -> None:
        self._time, self._bars, self._began = time_left, bars, time.monotonic()
        self._noticed, self._speeds = set[str](), dict[str, float]()
        self._next_line, self._afterwards = self._began, afterwards
        self._whole = bars.add_task("loading", total=1.0)

    def show(self, event: events.Event) -> None:
        """Show one event."""
        name, now = event.batch.name, time.monotonic()
        self._time.show(event)
        if not isinstance(event, events.Progress | events.Notice):
            self._speeds.pop(name, None)
        match event:
            case events.Started() if event.step:
                self._say(f"{name}: resumed from step {event.step:,}")
            case events.Progress():
                steps = max(1, event.step - event.first) * len(event.batch.runs)
                self._speeds[name] = steps / max(event.seconds, 1e-9)
            case events.Failed():
                self._say(f"{name}: FAILED: {event.reason}")
            case events.Split():
                self._say(f"{name}: {event.reason}; retrying {count(event.size, 'run')} at a time")
            case events.Taken():
                self._say(f"{name}: another process is working on it")
            case events.Notice() if event.text not in self._noticed:
                self._noticed.add(event.text)
                self._say(f"{name}: {event.text}")
        rest, share, spent = self._time.left(), self._time.share, now - self._began
        if self._afterwards is not None and self._time.seen >= SEEN_SECONDS and share < 1:
            total = duration(spent / self._time.busy + self._time.free + self._afterwards)
            self._say(f"Estimate: {total} in all, where nothing else runs.")
            self._afterwards = None
        speed = f"{sum(self._speeds.values()):,.0f} steps/s, " * bool(self._speeds)
        left = f"{share:.0%}, {speed}about {duration(rest)} left of {duration(rest + spent)}"
        said = left if share < 1 else f"100%, in {duration(spent)}"
        self._bars.update(self._whole, completed=share, description=said)
        last = share == 1 and self._next_line < math.inf  # events go on: evaluations, notices
        if not self._bars.console.is_terminal and (now >= self._next_line or last):
            self._say(f"all runs: {said}")
            self._next_line = math.inf if share == 1 else now + LINE_SECONDS

    def _say(self, text: str) -> None:
        to = self._bars.console  # a log keeps its lines whole
        to.print(visible(text), highlight=False, markup=False, soft_wrap=not to.is_terminal)
