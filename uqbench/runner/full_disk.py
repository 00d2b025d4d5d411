"""A full disk: wait until there is room."""

import time
from collections.abc import Callable
from typing import TypeVar

from uqbench.contract.errors import StorageError
from uqbench.results.records import now
from uqbench.runner.stop import Stop
from uqbench.runner.stopwatch import Stopwatch

ROOM_SECONDS = 600.0
"""How long to wait for room before the runs end as failed, with everything kept."""
POLL_SECONDS = 3.0
GLANCE_SECONDS = 0.2
"""Between two checks of whether the process was asked to stop."""

_Result = TypeVar("_Result")


class WaitsForRoom:
    """Repeats what needs room on the disk until there is some.

    Args:
        watch: measures the batch's own time; waiting is not counted.
        stop: asks the process to stop; ends the wait.
        notify: called with messages for the user.
    """

    def __init__(self, watch: Stopwatch, stop: Stop, notify: Callable[[str], None]) -> None:
        self._watch, self._stop, self._notify = watch, stop, notify

    def __call__(self, write: Callable[[], _Result]) -> _Result:
        """Call ``write``, again and again while the disk is full.

        Raises:
            StorageError: it cannot be written for another reason; or there was no room for
                ``ROOM_SECONDS``, or the process was asked to stop.
        """
        began, warned = time.monotonic(), False
        while True:
            try:
                return write()
            except StorageError as error:
                late = time.monotonic() - began >= ROOM_SECONDS
                if not error.full or self._stop.asked or late:
                    raise
                if not warned:
                    warned = True
                    self._notify(
                        f"paused at {now()}, the disk is full: {error} It resumes when there is "
                        f"room; after {ROOM_SECONDS / 60:.0f} minutes it fails, keeping everything."
                    )
            with self._watch.paused():
                retry = time.monotonic() + POLL_SECONDS
                while time.monotonic() < retry and not self._stop.asked:
                    time.sleep(min(GLANCE_SECONDS, POLL_SECONDS))
