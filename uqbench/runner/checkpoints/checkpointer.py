"""When checkpoints are written: at intervals, and when the process is asked to stop.

The clock decides when a checkpoint is written, never what a run computes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from uqbench.errors import CannotSaveError, StorageError, UqbenchError
from uqbench.results.folders import Folder
from uqbench.runner.checkpoints.files import Checkpoint, write
from uqbench.runner.full_disk import WaitsForRoom
from uqbench.runner.stop import Stop
from uqbench.runner.stopwatch import Stopwatch

SHARE = 0.01
"""Largest share of the time that writing checkpoints may take."""


class Checkpointer:
    """Writes the checkpoints of one batch.

    Args:
        folder: where they are written.
        about: what they belong to; ``step`` and ``seconds`` are those at which this process began.
        watch: measures the batch's own time.
        every: seconds between two; more if they would take more than ``SHARE``; 0 for none.
        stop: whether to end after this step.
        written: called with a checkpoint's step once it is complete.
        notify: called with messages for the user.
    """

    def __init__(
        self,
        folder: Folder,
        about: Checkpoint,
        watch: Stopwatch,
        every: float,
        stop: Stop,
        written: Callable[[int], None],
        notify: Callable[[str], None],
    ) -> None:
        self.stop = stop
        self._folder = folder
        self._about = about
        self._watch = watch
        self._began = watch.seconds
        self._every = every
        self._written = written
        self.notify = notify
        self._when_there_is_room = WaitsForRoom(watch, stop, notify)
        self._last = about.step  # that step has a checkpoint, or there is nothing to save
        self._due = time.monotonic() + every

    @property
    def seconds(self) -> float:
        """Wall time of the batch's own turns, including those in earlier processes."""
        return self._about.seconds + self._watch.seconds - self._began

    def after(self, step: int, state: Callable[[], Mapping[str, Any]]) -> None:
        """Write a checkpoint if one is due; called after every step.

        Raises:
            StorageError: the disk stayed full.
            SystemExit: the process was asked to stop.
        """
        due = self._every and (self.stop.asked or time.monotonic() >= self._due)
        if due and step != self._last:
            self._save(step, state)
        if self.stop.asked:
            raise SystemExit(1)

    def _save(self, step: int, state: Callable[[], Mapping[str, Any]]) -> None:
        began = time.monotonic()
        about = self._about.model_copy(update={"step": step, "seconds": self.seconds})
        try:
            saved = state()
            self._when_there_is_room(lambda: write(self._folder, about, saved))
            self._last = step
            self._written(step)
        except CannotSaveError as error:
            self._every = 0.0
            self.notify(f"no checkpoints, an interrupted run starts over: {error}")
        except UqbenchError as error:  # the previous one is still there
            if isinstance(error, StorageError) and error.full and not self.stop.asked:
                raise
            self.notify(f"no checkpoint: {error}")
        ended = time.monotonic()
        self._due = ended + max(self._every, (ended - began) / SHARE)
