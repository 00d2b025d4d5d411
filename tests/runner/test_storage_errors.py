"""A disk that fails, or is full, costs a run nothing that was stored; and what is flushed to it."""

import errno
import os
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from toy_runs import began, digests, texts

from uqbench.results import RunState, Store
from uqbench.runner.events import Failed, Split


class Disk:
    """What a disk without room answers, or one that fails, while there is an ``error``."""

    error: OSError | None = None
    flushed = 0

    def fail(self, code: int = errno.EIO) -> None:
        self.error = OSError(code, os.strerror(code))

    def heal(self) -> None:
        self.error = None


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk, original = Disk(), os.fsync

    def fsync(descriptor: int) -> None:
        if disk.error is not None:
            raise disk.error
        disk.flushed += 1
        original(descriptor)

    monkeypatch.setattr("uqbench.results.folders.os.fsync", fsync)
    return disk


@contextmanager
def unreadable(name):
    """Where the disk does not give files of a name."""
    original = os.open

    def failing(path, *arguments, **keywords):
        if str(path).endswith(name):
            raise OSError(errno.EIO, "Input/output error")
        return original(path, *arguments, **keywords)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("uqbench.results.folders.os.open", failing)
        yield


def failures(told: list[Any]) -> list[Failed]:
    found = [event for event in told if isinstance(event, Failed | Split)]
    assert not any(isinstance(event, Split) for event in found)
    return found


def test_a_record_that_cannot_be_written_is_told_once(batch, run, unbroken, tmp_path, monkeypatch):
    monkeypatch.setattr("uqbench.runner.worker.RECORD_SECONDS", 0.0)
    store = Store(tmp_path)
    path = store.folder(batch.runs[1]) / "run.json"

    def block() -> None:
        path.unlink()
        (path / "in the way").mkdir(parents=True)

    def unblock() -> None:
        (path / "in the way").rmdir()
        path.rmdir()

    [notice] = texts(run(batch, store, at={100: block, 200: unblock}))
    assert notice.startswith(f"the run continues, but {path} cannot be written: Is a directory")
    assert digests(store, batch) == unbroken


def test_a_failing_disk_costs_only_a_checkpoint(disk, batch, run, unbroken, tmp_path, monkeypatch):
    monkeypatch.setattr("uqbench.runner.worker.RECORD_SECONDS", 0.0)
    store, at = Store(tmp_path), {100: disk.fail, 200: disk.heal}
    told = run(batch, store, at=at, saves={50, 150, 250}, until=300)
    assert failures(told) == []
    first, second = texts(told)
    assert first.startswith("the run continues, but ")
    assert second.startswith("no checkpoint: ")
    assert (began(run(batch, store)), digests(store, batch)) == ([300], unbroken)


@pytest.mark.parametrize("what", ["checkpoint.json", "step-100.pt"])
def test_a_checkpoint_that_cannot_be_read_is_kept(what, batch, run, unbroken, tmp_path):
    store = Store(tmp_path)
    run(batch, store, until=100)
    files = {path: path.read_bytes() for path in store.root.glob("**/checkpoint/*")}
    assert len(files) == 2
    with unreadable(what):
        [failed] = failures(run(batch, store))
    assert f"{what} cannot be read: Input/output error" in failed.reason
    assert [store.find(run).state for run in batch.runs] == [RunState.FAILED] * 3
    assert {path: path.read_bytes() for path in store.root.glob("**/checkpoint/*")} == files
    assert (began(run(batch, store)), digests(store, batch)) == ([100], unbroken)


@pytest.mark.parametrize("name", ["run.json", "metrics.parquet"])
def test_a_finished_run_that_cannot_be_read_stays_as_it_is(name, batch, run, tmp_path):
    store = Store(tmp_path)
    run(batch, store)
    before = {path: path.read_bytes() for path in tmp_path.glob("toy/**/*") if path.is_file()}
    with unreadable(name):
        assert [type(event) for event in run(batch, store)] == [Failed]
    after = {path: path.read_bytes() for path in tmp_path.glob("toy/**/*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize("at", [0, 100, 600])
def test_runs_that_a_full_disk_failed_lose_nothing(at, disk, batch, run, unbroken, tmp_path):
    """Full before the first step, in the middle, and when the runs are stored."""
    store = Store(tmp_path)
    store.prepare()
    fill = partial(disk.fail, errno.ENOSPC)
    if at == 0:
        fill()
    saves = {0: set(), 100: {50, 100}, 600: {599}}[at]
    [failed] = failures(run(batch, store, at={at: fill}, saves=saves))
    assert failed.full
    assert "No space left on device" in failed.reason
    disk.heal()
    assert began(run(batch, store)) == [min(saves, default=0)]
    assert digests(store, batch) == unbroken


@pytest.mark.parametrize("lanes", [1, 3])
def test_a_checkpoint_takes_four_flushes_and_a_step_none(lanes, disk, batch, run, tmp_path):
    counts: list[int] = []
    count = {step: lambda: counts.append(disk.flushed) for step in (50, 51, 100, 101, 151)}
    run(batch.of(batch.runs[:lanes]), Store(tmp_path), at=count, saves={50, 100, 150})
    before, first, idle, second, third = counts
    assert first - before >= 4 + 2 * lanes  # the records name the checkpoint, once
    assert idle == first
    assert third - second == second - idle == 4
