"""Progress on stderr: live bars on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from uqbench.contract.wording import duration, fitted, visible
from uqbench.runner import events
from uqbench.runner.batches import BatchGroup
from uqbench.runner.forecast import Forecast, TimeLeft, seconds_left
from uqbench.runner.watcher import Watcher

LINE_SECONDS = 15.0


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
        text = "{task.percentage:>3.0f}%  {task.fields[speed]}  {task.fields[eta]}"
        bar = BarColumn(bar_width=None, table_column=Column(min_width=20, max_width=40))
        named = Column(overflow="ellipsis", no_wrap=True, ratio=1)
        columns = TextColumn("{task.description}", table_column=named), bar, TextColumn(text)
        with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
            yield _Display(TimeLeft(groups, expected, processes), bars).show


class _Display:
    """Shows each batch and the whole as they run, with steps/s and the time left.

    Steps are those of all runs; ``steps/s`` of a batch is the sum over its lanes.
    """

    def __init__(self, time_left: TimeLeft, bars: Progress) -> None:
        self._time, self._bars, self._began = time_left, bars, time.monotonic()
        self._noticed: set[str] = set()
        self._rows: dict[str, TaskID] = {}
        self._next_line: dict[str, float] = {}
        self._whole = bars.add_task("all runs", total=1.0, speed="", eta="loading")

    def show(self, event: events.Event) -> None:
        """Show one event."""
        name, now = event.batch.name, time.monotonic()
        self._time.show(event)
        rest, share = self._time.left(), self._time.share
        left = f"about {duration(rest)} left of {duration(rest + now - self._began)}"
        whole = f"all runs: {share:.0%}, {left}" if share < 1 else "all runs: 100%"
        goes_on = isinstance(event, events.Progress | events.Notice)
        if not goes_on and name in self._rows:  # it ended, or starts again
            self._bars.remove_task(self._rows.pop(name))
        match event:
            case events.Started():
                steps = event.batch.budget.steps
                self._rows[name] = self._bars.add_task(name, total=steps, speed="loading", eta="")
                self._next_line[name] = now + LINE_SECONDS
                how = f"resumed from step {event.step:,}" if event.step else "started"
                self._line(f"{name}: {how}")
            case events.Progress():
                steps = max(1, event.step - event.first) * len(event.batch.runs)
                speed = f"{steps / max(event.seconds, 1e-9):,.0f} steps/s"
                own = seconds_left(event)
                eta = "" if own is None else f"{duration(own)} left"
                self._bars.update(self._rows[name], completed=event.step, speed=speed, eta=eta)
                if now >= self._next_line[name]:
                    done = event.step / event.batch.budget.steps
                    self._line(f"{name}: {done:.0%}, {speed}, {eta}; {whole}")
                    self._next_line[name] = now + LINE_SECONDS
            case events.Finished():
                speed = f"{event.batch.steps / max(event.seconds, 1e-9):,.0f} steps/s"
                self._say(f"{name}: done in {duration(event.seconds)}, {speed}; {whole}")
            case events.Failed():
                self._say(f"{name}: FAILED: {event.reason}")
            case events.Split():
                how = "each run alone" if event.size == 1 else f"{event.size} runs at a time"
                self._say(f"{name}: {event.reason}; retrying {how}")
            case events.Taken():
                self._say(f"{name}: another process is working on it")
            case events.Notice() if event.text not in self._noticed:
                self._noticed.add(event.text)
                self._say(f"{name}: {event.text}")
        self._bars.update(self._whole, completed=share, eta=left)

    def _line(self, text: str) -> None:
        if not self._bars.console.is_terminal:
            self._say(text)

    def _say(self, text: str) -> None:
        console = self._bars.console
        wide = not console.is_terminal  # a log keeps its lines whole
        console.print(visible(text), highlight=False, markup=False, soft_wrap=wide)
