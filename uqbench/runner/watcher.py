"""The spectator of an execution."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from uqbench.runner.batches import BatchGroup
from uqbench.runner.events import Event
from uqbench.runner.forecast import Forecast


class Watcher:
    """Is told in words what will be done, and shown each event; by itself it shows nothing."""

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
        return nullcontext(lambda _event: None)
