"""Watchers: whoever is told of what is executed."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from uqbench.runner.batches import BatchGroup
from uqbench.runner.events import Event
from uqbench.runner.forecast import Forecast


class Watcher(Protocol):
    """Is given in words what will be done, and shown each event of what is executed."""

    def say(self, *lines: str) -> None:
        """Tell the user."""

    def watch(
        self, groups: Sequence[BatchGroup], expected: Forecast, processes: int
    ) -> AbstractContextManager[Callable[[Event], None]]:
        """Show the events of some groups, passed one by one to what this context gives.

        Args:
            groups: what is executed.
            expected: of their runs.
            processes: number of concurrent processes.
        """


class Quiet:
    """Shows nothing."""

    def say(self, *lines: str) -> None:
        """Say nothing."""

    def watch(
        self, groups: Sequence[BatchGroup], expected: Forecast, processes: int
    ) -> AbstractContextManager[Callable[[Event], None]]:
        """Show nothing."""
        return nullcontext(lambda _event: None)
