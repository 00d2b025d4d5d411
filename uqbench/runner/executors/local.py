"""The local executor: spawned processes, each with one torch thread.

A worker executes one group after another. An error costs only the run that raised it: a batch of
several is retried run by run. When a worker dies, the batches it had fail, and a new worker takes
its place.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uqbench.runner.executors import mkl

if TYPE_CHECKING:  # a spawned process imports this module before it limits threads
    from multiprocessing.process import BaseProcess

    from uqbench.identity import Run
    from uqbench.runner.batching.batches import Batch, BatchGroup
    from uqbench.runner.events import Event, Failed, Finished, Split, Taken

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    mkl.VARIABLE: mkl.own_branches()[0],  # the same bits wherever in memory a lane's numbers lie
}
"""Set by a worker before it loads torch."""
STOP_SECONDS = 5.0
"""For a last checkpoint, once the workers are asked to stop."""


def run_locally(
    groups: Sequence[BatchGroup], out: Path, workers: int, checkpoint_seconds: float
) -> Generator[Event, None, None]:
    """Execute groups in ``workers`` processes and yield events.

    Closing the iterator, or an interrupt, stops the workers, which may write a checkpoint first;
    runs that they had not finished are abandoned.

    Args:
        groups: what to execute, in this order.
        out: root of the result store.
        workers: processes.
        checkpoint_seconds: between two checkpoints of a batch; 0 for none.
    """
    from uqbench.errors import UqbenchError
    from uqbench.results.store import Store
    from uqbench.runner.events import Failed, Finished, Split, Taken
    from uqbench.runner.worker import fail

    waiting = list(groups)
    team: dict[Connection, _Worker] = {}
    try:
        while waiting or team:
            while waiting and len(team) < workers:
                worker = _Worker.start(out, checkpoint_seconds)
                team[worker.connection] = worker
                worker.give(waiting.pop(0))
            for ready in wait(list(team)):
                assert isinstance(ready, Connection)
                worker = team[ready]
                try:
                    message = ready.recv()
                except (EOFError, OSError):  # the second where it died in the middle of a word
                    del team[ready]
                    reason = worker.exit_reason()
                    for batch in worker.under_way():
                        with suppress(UqbenchError):  # on a full disk it stays abandoned
                            fail(batch, Store(out), reason)
                        yield Failed(batch, reason)
                    continue
                if isinstance(message, Finished | Failed | Split | Taken):
                    worker.settle(message)
                if isinstance(message, Split):
                    waiting[:0] = [(message.batch.of([run]),) for run in message.batch.runs]
                if message is not None:
                    yield message
                elif waiting and not worker.spent:
                    worker.give(waiting.pop(0))
                else:
                    del team[ready]
                    worker.dismiss()
    finally:
        for worker in team.values():
            worker.process.terminate()
        patience = time.monotonic() + STOP_SECONDS
        for worker in team.values():
            worker.stop(patience)


@dataclass
class _Worker:
    """A process and the group it has."""

    process: BaseProcess
    connection: Connection
    group: BatchGroup = ()
    settled: set[Run] = field(default_factory=set)
    failed_on_gpu: bool = False

    @classmethod
    def start(cls, out: Path, checkpoint_seconds: float) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        arguments = (theirs, str(out), checkpoint_seconds)
        process = context.Process(target=_work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return cls(process, ours)

    def give(self, group: BatchGroup) -> None:
        self.group, self.settled = group, set()
        with suppress(BrokenPipeError):  # it died: the next read notices
            self.connection.send(group)

    @property
    def spent(self) -> bool:
        """Whether the process may hold leftover state: a method's own, or a broken GPU's."""
        return self.failed_on_gpu or any(batch.cell.owns_loop for batch in self.group)

    def settle(self, event: Finished | Failed | Split | Taken) -> None:
        """Note which runs this worker is done with."""
        from uqbench.runner.events import Finished, Taken

        self.settled |= set(event.batch.runs)
        ill = not isinstance(event, Finished | Taken)
        self.failed_on_gpu |= ill and event.batch.device == "cuda"

    def under_way(self) -> Iterator[Batch]:
        """What the process had not finished."""
        for batch in self.group:
            runs = [run for run in batch.runs if run not in self.settled]
            if runs:
                yield batch.of(runs)

    def exit_reason(self) -> str:
        self.process.join()
        code = self.process.exitcode or 0
        if code < 0:
            return f"the worker was killed by {signal.Signals(-code).name}"
        return f"the worker ended with exit code {code}"

    def dismiss(self) -> None:
        self.connection.close()
        self.process.join()

    def stop(self, patience: float) -> None:
        """Wait for its end until ``patience``, then kill it."""
        self.process.join(timeout=max(0.0, patience - time.monotonic()))
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def prepare_process() -> None:
    """Set up a process that computes: one torch thread, and an allocator that keeps its memory.

    Each step frees and reallocates the same megabytes; returning them to the system costs 4 % of
    the time with five lanes.
    """
    import torch

    torch.set_num_threads(1)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
    if mallopt is not None:
        mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD
        mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD; more is refused


def _work(connection: Connection, out: str, checkpoint_seconds: float) -> None:
    """A worker: receive a group, execute it, send None, until the connection closes."""
    os.environ.update(ENVIRONMENT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means

    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store
    from uqbench.runner.stop import Stop
    from uqbench.runner.turns import execute

    stop = Stop()
    signal.signal(signal.SIGTERM, stop.ask)
    prepare_process()
    host, store = Host.load(), Store(Path(out))

    def send(message: Any) -> None:
        try:
            connection.send(message)
        except OSError:
            stop.ask()  # the parent is gone

    while True:
        try:
            group = connection.recv()
        except (EOFError, OSError):
            return
        execute(group, store, host, send, checkpoint_seconds, stop)
        send(None)
