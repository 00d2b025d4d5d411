"""Failures of the first batches that have one reason: then the machine is at fault, not a method.

A method's own fault costs its runs alone. But where nothing has finished, and all that was begun,
of two methods and two tasks at least (or of all there are), raised the same, the rest would, too.
"""

import re
from collections.abc import Sequence

from uqbench.runner import events
from uqbench.runner.batches import Batch, BatchGroup

RAISED = re.compile(r"\w+: ")
"""How the reasons of errors begin; limits and deaths of workers are those of single runs."""


class FirstFailures:
    """The failures of a command's batches, as long as none has finished.

    Args:
        groups: all that it executes.

    Attributes:
        failed: the latest batch that failed of each task and method, with the reason.
    """

    def __init__(self, groups: Sequence[BatchGroup]) -> None:
        self.failed: dict[tuple[str, str], tuple[Batch, str]] = {}
        self._planned = {_cell(batch) for group in groups for batch in group}
        self._begun: set[tuple[str, str]] = set()
        self._over = len(self._planned) < 2

    def common_reason(self, event: events.Event) -> str | None:
        """The reason why all that was begun has failed, after this event; None where it has not."""
        match event:
            case events.Started():
                self._begun.add(_cell(event.batch))
            case events.Finished() | events.Taken():
                self._over = True
            case events.Failed() | events.Split():
                self.failed[_cell(event.batch)] = event.batch, event.reason
                if not self._over and self._is_common():
                    return event.reason
        return None

    def _is_common(self) -> bool:
        failed, reasons = self.failed.keys(), [reason for _, reason in self.failed.values()]
        raised = all(map(RAISED.match, reasons))
        alike = len({re.sub(r"\d+", "", reason) for reason in reasons}) == 1
        enough = (  # tasks and methods
            len({cell[part] for cell in failed}) >= min(2, len({c[part] for c in self._planned}))
            for part in (0, 1)
        )
        return raised and alike and self._begun <= failed and all(enough)


def _cell(batch: Batch) -> tuple[str, str]:
    return batch.cell.task.name, batch.cell.method.name
