"""A group may take as much as its runs together may, and no more."""

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from uqbench.runner.events import Progress, Started
from uqbench.runner.executors import limits
from uqbench.runner.executors.limits import Limits, Watchdog, memory


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def batch(name: str, runs: int) -> Any:
    return SimpleNamespace(name=name, runs=range(runs))


def watch(limits: Limits, *runs: int) -> tuple[Watchdog, Clock, list[Any]]:
    group, clock = tuple(batch(str(i), n) for i, n in enumerate(runs)), Clock()
    return Watchdog(limits, group, clock=clock), clock, list(group)


def test_the_time_of_a_batch_is_shared_by_its_lanes_and_counts_what_was_before_the_resumption():
    watchdog, clock, [five] = watch(Limits(run_minutes=1.0), 5)
    clock.now = 1000.0  # waiting for its first step does not count
    assert watchdog.exceeded(os.getpid()) is None
    watchdog.observe(Started(five, step=100, seconds=100.0, lanes=5))
    clock.now += 5 * 60 - 100
    assert watchdog.exceeded(os.getpid()) is None
    clock.now += 0.1
    assert watchdog.exceeded(os.getpid()) == "it took more than 1 minutes (--run-minutes)"


def test_interleaved_batches_share_the_time():
    watchdog, clock, [one, other] = watch(Limits(run_minutes=1.0), 1, 2)
    watchdog.observe(Started(one, lanes=1))
    watchdog.observe(Started(other, lanes=2))
    clock.now = 180.0
    assert watchdog.exceeded(os.getpid()) is None
    clock.now = 180.1
    assert watchdog.exceeded(os.getpid()) is not None


def test_any_event_is_a_sign_of_life():
    watchdog, clock, [one] = watch(Limits(stall_minutes=2.0), 1)
    for _ in range(3):
        clock.now += 120.0
        assert watchdog.exceeded(os.getpid()) is None
        watchdog.observe(Progress(one, 1, 1.0, {}))
    clock.now += 120.1
    reason = "it made no progress for 2 minutes (--stall-minutes)"
    assert watchdog.exceeded(os.getpid()) == reason


def test_silence_counts_only_once_the_process_has_started():
    clock = Clock()
    watchdog = Watchdog(Limits(stall_minutes=1.0), (), start_seconds=600.0, clock=clock)
    clock.now = 660.0
    assert watchdog.exceeded(os.getpid()) is None
    clock.now = 660.1
    assert "no progress" in str(watchdog.exceeded(os.getpid()))


def test_the_memory_of_a_run_is_the_same_before_and_after_its_first_step(monkeypatch):
    """That of as many runs as the process holds: those of the group, or the lanes it resumes."""
    watchdog, _, [three] = watch(Limits(run_gigabytes=1.0), 3)

    def most() -> int:
        """The gigabytes that it may take at most."""
        for gigabytes in range(1, 20):
            monkeypatch.setattr(limits, "memory", lambda pid, n=gigabytes: n * 10**9 + 1)
            if watchdog.exceeded(os.getpid()) is not None:
                return gigabytes
        raise AssertionError("no limit")

    assert most() == 3
    watchdog.observe(Started(three, lanes=3))
    assert most() == 3
    watchdog.observe(Started(three, step=100, seconds=1.0, lanes=5))
    assert most() == 5


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_that_of_a_process_and_of_its_descendants():
    code = "x = b'x' * 200_000_000; print(flush=True); import time; time.sleep(60)"
    shell = f'{sys.executable} -c "{code}" & wait'
    with subprocess.Popen(
        ["sh", "-c", shell], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
    ) as parent:
        parent.stdout.readline()
        watchdog, _, _ = watch(Limits(run_gigabytes=0.1), 1)
        assert 2e8 < memory(parent.pid) < 3e8
        assert "0.1 GB of memory" in str(watchdog.exceeded(parent.pid))
        assert watch(Limits(run_gigabytes=0.1), 3)[0].exceeded(parent.pid) is None
        os.killpg(parent.pid, 9)
