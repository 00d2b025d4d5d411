"""Locks where flock fails, does nothing, or is not enough: leases, which expire."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from example_runs import make_record, make_run

from uqbench.errors import StorageError
from uqbench.results import Store, locks
from uqbench.results.locks import SHARED, RunLocks

RUN = "suite/budget/task/method/0-00000000"
HOLD = """
import fcntl, sys, time
from pathlib import Path
from uqbench.results import locks as module
from uqbench.results.locks import RunLocks
module.LEASE_SECONDS = float(sys.argv[3])
def flock(*_):
    raise OSError(38, "Function not implemented")
fcntl.flock = flock
locks = RunLocks(Path(sys.argv[1]))
lock = locks.acquire(sys.argv[2])
assert lock is not None
print("held", flush=True)
while not locks.is_lost(sys.argv[2]):
    time.sleep(0.02)
print("lost", flush=True)
"""


@pytest.fixture
def holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds a lease of one second, and has no flock."""
    monkeypatch.setattr(locks, "LEASE_SECONDS", 1.0)
    RunLocks(tmp_path).prepare(shared=True)
    command = [sys.executable, "-c", HOLD, str(tmp_path), RUN, "1.0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def exclude_each_other(root: Path) -> bool:
    one, other = RunLocks(root), RunLocks(root)
    with one.acquire(RUN):
        excluded = other.acquire(RUN) is None and other.is_held(RUN)
    free = not other.is_held(RUN)
    with other.acquire(RUN) as again:
        return excluded and free and again is not None


def test_where_flock_holds_nothing_else_is_used(tmp_path):
    assert RunLocks(tmp_path).prepare() == ""
    assert exclude_each_other(tmp_path)
    assert not list(tmp_path.rglob("*lease*"))


MISSING = OSError(errno.ENOSYS, "Function not implemented")
FLOCKS = {
    "flock is not there (Function not implemented)": Mock(side_effect=MISSING),
    "flock does nothing: two processes got the same lock": Mock(),
}


@pytest.mark.parametrize("said", FLOCKS)
def test_a_flock_missing_or_got_by_two_is_told_and_leases_exclude(said, tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", FLOCKS[said])
    assert RunLocks(tmp_path).prepare() == said
    assert exclude_each_other(tmp_path)


def test_once_leased_a_store_stays_so_for_every_process(tmp_path):
    assert RunLocks(tmp_path).prepare(shared=True) == SHARED
    assert RunLocks(tmp_path).prepare() == ""
    with RunLocks(tmp_path).acquire(RUN) as lock:
        assert lock.lease is not None


def test_a_lease_excludes_a_process_that_knows_only_flock(tmp_path):
    before = RunLocks(tmp_path)
    with before.acquire(RUN):
        RunLocks(tmp_path).prepare(shared=True)
        after = RunLocks(tmp_path)
        assert after.acquire(RUN) is None
        assert after.is_held(RUN)
    assert not after.is_held(RUN)


def test_the_lease_of_a_process_that_was_killed_here_is_free_at_once(holder, tmp_path):
    locks = RunLocks(tmp_path)
    assert locks.is_held(RUN)
    holder.kill()
    holder.wait()
    assert not locks.is_held(RUN)


def test_a_suspended_holder_is_waited_for_then_replaced_and_notices(holder, tmp_path):
    locks, began = RunLocks(tmp_path), time.monotonic()
    while time.monotonic() - began < 2.0:  # as long as it is refreshed it holds
        assert locks.is_held(RUN)
        time.sleep(0.2)
    os.kill(holder.pid, signal.SIGSTOP)
    began = time.monotonic()
    while locks.is_held(RUN):
        assert time.monotonic() - began < 10.0
        time.sleep(0.05)
    assert time.monotonic() - began > 0.5
    with locks.acquire(RUN):
        os.kill(holder.pid, signal.SIGCONT)
        assert holder.stdout.readline() == "lost\n"
        assert not locks.is_lost(RUN)


def test_a_run_whose_lease_was_lost_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "LEASE_SECONDS", 0.3)
    store, run = Store(tmp_path), make_run()
    store.prepare(shared=True)
    with store.lock(run):
        store.write(run, make_record(run))
        [path] = (tmp_path / ".locks").glob("*.lease")
        path.unlink()  # as if another had taken it over, and ended
        time.sleep(1.0)
        with pytest.raises(StorageError, match="this one writes nothing more"):
            store.write(run, make_record(run))
