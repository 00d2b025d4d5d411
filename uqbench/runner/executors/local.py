"""The local executor: spawned processes, each with one torch thread.

A worker executes one group after another. An error costs only the run that raised it: a batch of
several is retried run by run, after all others as long as none has finished. When a worker dies,
the batches it had fail, and a new worker takes its place.
"""

from __future__ import annotations

import codecs
import ctypes
import io
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from uqbench.contract.wording import Printed
from uqbench.runner.device import GPU, MKL, mkl_branches
from uqbench.runner.executors.limits import Limits, Watchdog
from uqbench.runner.executors.spawn import Channel, MessageError, listen, ready, start
from uqbench.runner.process import Stop

if TYPE_CHECKING:  # a spawned process imports this module before it limits threads
    from uqbench.contract.identity import Run
    from uqbench.results.store import Store
    from uqbench.runner.batches import Batch, BatchGroup
    from uqbench.runner.events import Event

THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ENVIRONMENT = THREADS | {
    MKL: mkl_branches()[0]  # the same bits wherever in memory a lane's numbers lie
}
"""Set by a worker before it loads torch."""
STOP_SECONDS = 30.0
"""For a last checkpoint, once the workers are asked to stop."""
STOPPED = 75
"""Exit code of what was stopped before it was done (``EX_TEMPFAIL``): execute it again."""
END_SECONDS = 30.0
"""For a process that closed its connection to end by itself: with torch, on a busy node."""
REAP_SECONDS = 5.0
"""The same of one that exceeds a limit or sends what is no message."""
POLL_SECONDS = 0.5
"""Between two looks at whether the workers live and keep to the limits."""
NO_LIMITS = Limits()
START_SECONDS = 600.0
"""That a worker may take to start, before its silence begins to count."""


def run_locally(
    groups: Sequence[BatchGroup],
    out: Path,
    workers: int,
    checkpoint_seconds: float,
    limits: Limits = NO_LIMITS,
    stop: Callable[[], bool] = lambda: False,
    stop_seconds: float | None = None,
    gpus: Sequence[str] = (),
) -> Generator[Event, None, None]:
    """Execute groups in ``workers`` processes and yield events.

    Closing the iterator, an interrupt, or ``stop`` stops the workers, which may write a checkpoint
    first; runs that they had not finished are abandoned.

    Args:
        groups: what to execute, in this order.
        out: root of the result store.
        workers: processes.
        checkpoint_seconds: between two checkpoints of a batch; 0 for none.
        limits: of each run.
        stop: whether to stop the workers; their last events are still yielded.
        stop_seconds: for a last checkpoint; None for ``STOP_SECONDS``.
        gpus: of each worker, as ``CUDA_VISIBLE_DEVICES`` names them; none for all of them.
    """
    from uqbench.results.store import Store
    from uqbench.runner.events import Finished, Split

    waiting, store, finished = list(groups), Store(out), False
    team: dict[Channel, _Worker] = {}
    polled = time.monotonic()
    last = STOP_SECONDS if stop_seconds is None else stop_seconds
    try:
        while waiting or team:
            if stop():
                _stop_all(team.values(), last)
                for worker in team.values():
                    yield from worker.receive()
                return
            while waiting and len(team) < workers:
                free = Counter(gpus) - Counter(worker.gpu for worker in team.values())
                worker = _Worker(out, checkpoint_seconds, limits, next(free.elements(), ""))
                team[worker.channel] = worker
                worker.give(waiting.pop(0))
            events: list[Event] = []
            for channel in ready(team, POLL_SECONDS):
                events += team[channel].receive()
            due = time.monotonic() - polled >= POLL_SECONDS
            polled = time.monotonic() if due else polled
            for worker in list(team.values()):
                goes_on, more = _look_after(worker, waiting, store, due)
                events += more
                if not goes_on:
                    del team[worker.channel]
            for event in events:
                finished |= isinstance(event, Finished)
                if isinstance(event, Split):
                    at = 0 if finished else len(waiting)
                    waiting[at:at] = [(part,) for part in event.parts]
                yield event
    finally:
        _stop_all(team.values(), last)


def _look_after(
    worker: _Worker, waiting: list[BatchGroup], store: Store, due: bool
) -> tuple[bool, list[Event]]:
    """Give a worker what is next, or end it; whether it goes on, and what became of its batches."""
    from uqbench.runner.resume import failed

    if worker.broken or (due and not worker.process.is_alive()):
        reason, events = worker.reap(), worker.receive()
        if worker.stopped:  # by others than this process
            waiting[:0] = [(batch,) for batch in worker.unfinished()]
            return False, events
        return False, events + [failed(batch, store, reason) for batch in worker.unfinished()]
    if worker.idle and waiting and not worker.must_restart:
        worker.give(waiting.pop(0))
    elif worker.idle:
        worker.channel.connection.close()  # it ends by itself, if plugins let it
        worker.stop(time.monotonic() + REAP_SECONDS)
        return False, []
    elif due and (excess := worker.watchdog.exceeded(worker.process.pid or 0)):
        worker.process.terminate()
        worker.stop(time.monotonic() + REAP_SECONDS)
        return False, [*worker.receive(), *_isolate([*worker.unfinished()], store, excess)]
    return True, []


def _stop_all(team: Collection[_Worker], seconds: float) -> None:
    for worker in team:
        worker.process.terminate()
    deadline = time.monotonic() + seconds
    for worker in team:
        worker.stop(deadline)


def _isolate(batches: Sequence[Batch], store: Store, excess: str) -> Iterator[Event]:
    """The ends, or retries, of the unfinished batches of a process that exceeded a limit."""
    from uqbench.contract.errors import UqbenchError
    from uqbench.runner.events import Split
    from uqbench.runner.resume import failed, forget_checkpoint

    for batch in batches:
        if len(batches) > 1:  # each by itself, from its checkpoint
            yield Split(batch, excess, len(batch.runs))
        elif len(batch.runs) == 1:
            yield failed(batch, store, excess)
        else:
            with suppress(UqbenchError):  # on a full disk: together, they exceed it again
                forget_checkpoint(batch, store)
            yield Split(batch, excess)


class _Worker:
    """A process and the group it has."""

    def __init__(self, out: Path, checkpoint_seconds: float, limits: Limits, gpu: str) -> None:
        hears, prints = Pipe(duplex=False)
        with prints:
            self.process, self.channel = start(_work, str(out), checkpoint_seconds, gpu, prints)
        raw = _Unbroken(2, "w", closefd=False)
        self._said = Printed(io.TextIOWrapper(raw, "utf-8", "replace", write_through=True))
        self._printed = Thread(target=_pass_on, args=(hears, self._said), daemon=True)
        self._printed.start()
        self.gpu, self._limits, self._garbled = gpu, limits, ""
        self._group: BatchGroup = ()
        self._done_with: set[Run] = set()
        self.idle = self.broken = self.stopped = self._started = self._failed_on_gpu = False

    def give(self, group: BatchGroup) -> None:
        """Have it execute a group, once it has started."""
        self._group, self._done_with, self.idle = group, set(), False
        self._said.left, self._said.who = MOST_PRINTED, group[0].cell.method.name
        self.watchdog = Watchdog(self._limits, group, 0.0 if self._started else START_SECONDS)
        if self._started:
            with suppress(OSError):  # it died: the next read notices
                self.channel.send(group)

    def receive(self) -> list[Event]:
        """The events that it sent since the last call; notes which runs it is done with."""
        from uqbench.runner.events import END, Failed, Split

        events: list[Event] = []
        if self.broken:
            return events
        try:
            for message in self.channel.receive():
                if message == STOPPED:
                    self.stopped = True
                elif message is not None:
                    self.watchdog.observe(message)
                    events.append(message)
                    if isinstance(message, END | Split):
                        self._done_with |= set(message.batch.runs)
                    failed = isinstance(message, Failed | Split)
                    self._failed_on_gpu |= failed and message.batch.device == "cuda"
                elif self._started:
                    self.idle = True
                else:
                    self._started = True
                    self.give(self._group)
        except (EOFError, OSError):  # it died, perhaps in the middle of a message
            self.broken = True
        except MessageError as error:
            self.broken, self._garbled = True, f"the worker was ended: {error}"
        return events

    @property
    def must_restart(self) -> bool:
        """Whether the process may hold leftover state: a method's own, or a broken GPU's."""
        return self._failed_on_gpu or any(batch.cell.owns_loop for batch in self._group)

    def unfinished(self) -> Iterator[Batch]:
        """The batches that the process had not finished."""
        for batch in self._group:
            runs = [run for run in batch.runs if run not in self._done_with]
            if runs:
                yield batch.of(runs)

    def reap(self) -> str:
        """End what is left of a worker that died or cannot be talked to; the reason, in words."""
        self.stop(time.monotonic() + (REAP_SECONDS if self._garbled else END_SECONDS))
        if self._garbled:
            return self._garbled
        code = self.process.exitcode or 0
        if code < 0:
            return f"the worker was killed by {signal.Signals(-code).name}"
        return f"the worker ended with exit code {code}"

    def stop(self, deadline: float) -> None:
        """Wait for the process to end until ``deadline``, then kill it; its children end with it.

        The process is polled: a forked child that lives on holds the pipes that tell of its end.
        """
        while self.process.is_alive() and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        with suppress(ProcessLookupError, PermissionError):  # nobody is left
            os.killpg(self.process.pid or 0, signal.SIGKILL)
            gone = time.monotonic() + REAP_SECONDS
            while time.monotonic() < gone:  # until then, a child holds its parent's locks
                os.killpg(self.process.pid or 0, 0)
                time.sleep(0.02)
        self._printed.join(1)  # a child that left the group may keep the pipe


def prepare_process() -> None:
    """Set up a process that computes: one torch thread, and an allocator that keeps its memory.

    Each step frees and reallocates the same megabytes. By default glibc gives large blocks back to
    the system each time; to fault their pages in again took a third of the time of a batch whose
    tensors have more than 32 MB, the most that its threshold can be set to.
    """
    import torch

    torch.set_num_threads(1)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
    if mallopt is not None:
        mallopt(-1, -1)  # M_TRIM_THRESHOLD: never
        mallopt(-4, 0)  # M_MMAP_MAX: all blocks are on the heap


def release_memory() -> None:
    """Give what is free back to the system: the next group's limit is about its own memory."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


MOST_PRINTED = 4 << 20
"""Bytes of what the runs of a group print that are passed on."""


def _pass_on(pipe: Connection, said: Printed) -> None:
    """Read to the end what a worker's plugins print, on stdout or stderr, and pass it on.

    What a worker says as it crashes is heard, and one that prints while it holds Python's lock goes
    on.
    """
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with pipe:
        while data := os.read(pipe.fileno(), 1 << 16):
            said.write(decode(data))


class _Unbroken(io.FileIO):
    """A pipe to a process that may be gone: to print is no error of a plugin then."""

    def write(self, data: Any) -> int:
        """Write all of it, or nothing where nobody reads."""
        left = memoryview(data).cast("B")
        with suppress(BrokenPipeError):
            while left and (written := super().write(left)):  # a signal may cut a write short
                left = left[written:]
        return len(data)


def _print_into(pipe: Connection) -> None:
    """Have this process print to a pipe, whether by Python or by its descriptors."""
    for number in (1, 2):
        os.dup2(pipe.fileno(), number)
    if pipe.fileno() > 2:
        pipe.close()
    raw = io.BufferedWriter(_Unbroken(1, "w", closefd=False))
    sys.stdout = sys.stderr = io.TextIOWrapper(raw, "utf-8", "replace", line_buffering=True)


def _work(
    channel: Channel, out: str, checkpoint_seconds: float, gpu: str, prints: Connection
) -> None:
    """A worker: send None, receive a group and execute it, until the channel closes.

    Where it was asked to stop, the last message is ``STOPPED``.
    """
    os.setpgid(0, 0)  # what plugins start can be ended with it
    stop = Stop()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    listen(stop.ask)  # before anything is imported that takes long
    _print_into(prints)

    def send(message: Any) -> None:
        try:
            channel.send(message)
        except OSError:
            stop.ask()  # the parent is gone

    try:
        os.environ.update(ENVIRONMENT | ({GPU: gpu} if gpu else {}))
        from uqbench.registry.plugins import Host
        from uqbench.results.store import Store
        from uqbench.runner.interleaving import execute

        prepare_process()
        host, store = Host.load(), Store(Path(out).absolute())  # a plugin may change the folder
        send(None)
        for group in _groups(channel):
            if not execute(group, store, host, send, checkpoint_seconds, stop):
                return  # another process takes its place
            release_memory()
            send(None)
    except SystemExit:
        if not stop.asked:
            raise
        with suppress(OSError):  # the parent is gone
            channel.send(STOPPED)
    finally:
        sys.exit(STOPPED)


def _groups(channel: Channel) -> Iterator[BatchGroup]:
    """The groups that a worker is given."""
    with suppress(EOFError, OSError):  # there are no more, or the parent is gone
        while ready([channel]):
            yield from channel.receive()
