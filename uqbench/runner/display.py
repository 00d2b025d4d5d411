"""Progress on stderr: live bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from uqbench.runner import events
from uqbench.runner.batching.batches import Batch, BatchGroup
from uqbench.runner.forecast import Forecast, TimeLeft
from uqbench.wording import duration, visible

LINE_SECONDS = 15.0


class Terminal:
    """Tells on stderr what is done: a :class:`~uqbench.runner.watcher.Watcher`."""

    def say(self, *lines: str) -> None:
        """Print lines; whatever is in one, it stays one line."""
        for line in lines:
            print(visible(line), file=sys.stderr, flush=True)

    @contextmanager
    def watch(
        self, groups: Sequence[BatchGroup], expected: Forecast, processes: int
    ) -> Iterator[Callable[[events.Event], None]]:
        """Show progress while groups are executed."""
        with Display(groups, expected, processes) as display:
            yield display.show


class Display:
    """Shows each batch and the whole as they run, with steps/s and the time left.

    Steps are those of all runs; ``steps/s`` of a batch is the sum over its lanes.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[Batch]],
        expected: Forecast,
        processes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._time = TimeLeft(groups, expected, processes, clock)
        self._console = Console(stderr=True)
        self._live = self._console.is_terminal
        self._noticed: set[str] = set()
        self._rows: dict[str, TaskID] = {}
        self._last_line: dict[str, float] = {}
        self._began = clock()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}%  {task.fields[speed]}  {task.fields[eta]}"),
            console=self._console,
            disable=not self._live,
        )
        self._whole = self._bars.add_task("all runs", total=1.0, speed="", eta="")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def show(self, event: events.Event) -> None:
        """Show one event."""
        name = event.batch.name
        self._time.show(event)
        match event:
            case events.Started():
                self._forget(name)  # it may start again
                self._rows[name] = self._bars.add_task(
                    name, total=event.batch.budget.steps, speed="", eta=""
                )
                self._last_line[name] = self._clock()
                how = f"resumed from step {event.step:,}" if event.step else "started"
                self._line(f"{name}: {how}")
            case events.Progress():
                lanes = len(event.batch.runs)
                speed = max(1, (event.step - event.first) * lanes) / max(event.seconds, 1e-9)
                left = self._time.left_of(event.batch)
                texts = (f"{speed:,.0f} steps/s", f"{duration(left)} left")
                self._bars.update(
                    self._rows[name], completed=event.step, speed=texts[0], eta=texts[1]
                )
                if self._clock() - self._last_line[name] >= LINE_SECONDS:
                    share = event.step / event.batch.budget.steps
                    self._line(f"{name}: {share:.0%}, {texts[0]}, {texts[1]}; {self._eta()}")
                    self._last_line[name] = self._clock()
            case events.Finished():
                speed = event.batch.steps / max(event.seconds, 1e-9)
                self._forget(name)
                self._say(
                    f"{name}: done in {duration(event.seconds)}, {speed:,.0f} steps/s; "
                    f"{self._eta()}"
                )
            case events.Failed():
                self._forget(name)
                self._say(f"{name}: FAILED: {event.reason}")
            case events.Split():
                self._forget(name)
                how = "each run alone" if event.size == 1 else f"{event.size} runs at a time"
                self._say(f"{name}: {event.reason}; retrying {how}")
            case events.Taken():
                self._forget(name)
                self._say(f"{name}: another process is working on it")
            case events.SetAside():
                self._say(f"{name}: the damaged run is kept as {event.kept_as}")
            case events.Notice():
                if event.text not in self._noticed:
                    self._noticed.add(event.text)
                    self._say(f"{name}: {event.text}")
        share, left = self._all()
        self._bars.update(self._whole, completed=share, eta=f"{duration(left)} left")

    def _forget(self, name: str) -> None:
        if name in self._rows:
            self._bars.remove_task(self._rows.pop(name))

    def _all(self) -> tuple[float, float]:
        """The share of the time that has passed, and the seconds left."""
        left, spent = self._time.left(), self._clock() - self._began
        return (spent / (spent + left) if spent + left else 0.0), left

    def _eta(self) -> str:
        share, left = self._all()
        return f"all runs: {share:.0%}, about {duration(left)} left" if left else "all runs: 100%"

    def _line(self, text: str) -> None:
        if not self._live:
            self._say(text)

    def _say(self, text: str) -> None:
        self._console.print(visible(text), highlight=False, markup=False, soft_wrap=True)
