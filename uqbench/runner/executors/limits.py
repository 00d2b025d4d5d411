"""Limits of a run: time, memory, silence.

Lanes that share a process cannot be told apart, so a process may take as much as its runs together
may. When it takes more, the culprit is isolated: interleaved batches execute alone,
from their checkpoints; a batch of several runs is split, and each run starts over alone; a run that
exceeds a limit alone ends with that reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uqbench.contract.errors import UqbenchError

if TYPE_CHECKING:  # a spawned process imports the executor before it limits threads
    from uqbench.runner.batches import BatchGroup
    from uqbench.runner.events import Event

PROCESSES = Path("/proc")
_OWN_MEMORY = ("RssAnon:", "RssShmem:")
"""Lines of ``/proc/<pid>/status``: memory that is not that of mapped files, such as libraries."""


@dataclass(frozen=True)
class Limits:
    """Limits of a run; None for no limit.

    Attributes:
        run_minutes: of its share of the wall time of its batch, in all processes that worked on it.
        run_gigabytes: of its share of the memory of the process and those that it started.
        stall_minutes: without any progress, since its process has started.
    """

    run_minutes: float | None = None
    run_gigabytes: float | None = None
    stall_minutes: float | None = None

    def check(self) -> None:
        """Refuse a limit that cannot be enforced here.

        Raises:
            UqbenchError: the system does not say how much memory a process has.
        """
        if self.run_gigabytes is not None and not (PROCESSES / "self" / "status").exists():
            raise UqbenchError(f"--run-memory needs {PROCESSES}, which this system does not have.")


class Watchdog:
    """Compares what a group of batches takes with the limits.

    Args:
        limits: of each run.
        group: the batches, whose steps are interleaved in one process.
        start_seconds: before silence begins to count, if nothing is observed.
        clock: returns seconds.
    """

    def __init__(
        self,
        limits: Limits,
        group: BatchGroup,
        start_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits, self._clock = limits, clock
        self._runs = sum(len(batch.runs) for batch in group)
        self._before: dict[str, float] = {}
        self._lanes: dict[str, int] = {}
        self._began: float | None = None
        self._observed = clock() + start_seconds

    def observe(self, event: Event) -> None:
        """Take note of an event of the group."""
        from uqbench.runner.events import Started

        self._observed = self._clock()
        if isinstance(event, Started):
            self._began = self._began or self._observed
            self._before[event.batch.name] = event.seconds
            self._lanes[event.batch.name] = event.lanes

    def exceeded(self, pid: int) -> str | None:
        """The limit that the group exceeds, in words; None if it keeps to all of them.

        Args:
            pid: of the process that executes it.
        """
        limits, now = self._limits, self._clock()
        if limits.stall_minutes is not None and now - self._observed > 60 * limits.stall_minutes:
            return f"it made no progress for {limits.stall_minutes:g} minutes (--stall-minutes)"
        if limits.run_minutes is not None and self._began is not None:
            taken = sum(self._before.values()) + now - self._began
            if taken > 60 * limits.run_minutes * sum(self._lanes.values()):
                return f"it took more than {limits.run_minutes:g} minutes (--run-minutes)"
        if limits.run_gigabytes is not None:
            allowed = 1e9 * limits.run_gigabytes * max(self._runs, sum(self._lanes.values()))
            if memory(pid) > allowed:
                return f"it took more than {limits.run_gigabytes:g} GB of memory (--run-memory)"
        return None


def memory(pid: int) -> int:
    """Bytes of memory that a process and its descendants have to themselves.

    What they share after a fork counts once in each of them.
    """
    children: dict[int, list[int]] = {}
    for path in PROCESSES.glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            parent = path.read_text(errors="replace").rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(path.parent.name))
    family = [pid]
    for member in family:  # which grows by its children
        family += children.get(member, ())
    return sum(map(_own_memory, family))


def _own_memory(pid: int) -> int:
    try:
        lines = (PROCESSES / str(pid) / "status").read_text(errors="replace").splitlines()
    except OSError:  # it has ended
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(_OWN_MEMORY))
