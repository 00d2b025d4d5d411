"""A disk that fails, or is full, costs a run nothing that was stored."""

import errno
import os
from typing import Any

import pytest
from toy_runs import began, digests, texts

from uqbench.results import RunState, Store
from uqbench.runner.events import Failed, Split


class Disk:
    """What a disk without room answers, or one that fails, while there is an ``error``."""

    error: OSError | None = None

    def fill(self) -> None:
        self.error = OSError(errno.ENOSPC, "No space left on device")

    def fail(self) -> None:
        self.error = OSError(errno.EIO, "Input/output error")

    def heal(self) -> None:
        self.error = None


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk, original = Disk(), os.fsync

    def fsync(descriptor: int) -> None:
        if disk.error is not None:
            raise disk.error
        original(descriptor)

    monkeypatch.setattr("uqbench.results.folders.os.fsync", fsync)
    return disk


def failures(told: list[Any]) -> list[Failed]:
    found = [event for event in told if isinstance(event, Failed | Split)]
    assert not any(isinstance(event, Split) for event in found)
    return found


def test_a_record_that_cannot_be_written_under_way_is_told_once_and_costs_nothing(
    batch, run, unbroken, tmp_path, monkeypatch
):
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


def test_an_error_of_the_disk_under_way_costs_a_checkpoint_and_not_the_run(
    disk, batch, run, unbroken, tmp_path, monkeypatch
):
    monkeypatch.setattr("uqbench.runner.worker.RECORD_SECONDS", 0.0)
    store, at = Store(tmp_path), {100: disk.fail, 200: disk.heal}
    told = run(batch, store, at=at, saves={50, 150, 250}, until=300)
    assert failures(told) == []
    first, second = texts(told)
    assert first.startswith("the run continues, but ")
    assert second.startswith("no checkpoint: ")
    assert began(run(batch, store)) == [300]
    assert digests(store, batch) == unbroken


@pytest.mark.parametrize("what", ["checkpoint.json", "step-100.pt"])
def test_a_checkpoint_that_cannot_be_read_is_kept_and_the_run_fails_until_it_can(
    what, batch, run, unbroken, unreadable, tmp_path
):
    store = Store(tmp_path)
    run(batch, store, until=100)
    files = {path: path.read_bytes() for path in store.root.glob("**/checkpoint/*")}
    assert len(files) == 2
    with unreadable(what):
        [failed] = failures(run(batch, store))
    assert f"{what} cannot be read: Input/output error" in failed.reason
    assert [store.find(run).state for run in batch.runs] == [RunState.FAILED] * 3
    assert {path: path.read_bytes() for path in store.root.glob("**/checkpoint/*")} == files
    assert began(run(batch, store)) == [100]
    assert digests(store, batch) == unbroken


@pytest.mark.parametrize("name", ["run.json", "metrics.parquet"])
def test_a_finished_run_that_cannot_be_read_is_neither_moved_nor_run_again(
    name, batch, run, unreadable, tmp_path
):
    store = Store(tmp_path)
    run(batch, store)
    before = {path: path.read_bytes() for path in tmp_path.glob("toy/**/*") if path.is_file()}
    with unreadable(name):
        assert [type(event) for event in run(batch, store)] == [Failed]
    after = {path: path.read_bytes() for path in tmp_path.glob("toy/**/*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize("at", [0, 100, 600])
def test_a_full_disk_fails_the_runs_which_resume_with_everything(
    at, disk, batch, run, unbroken, tmp_path
):
    """Full before the first step, in the middle, and when the runs are stored."""
    store = Store(tmp_path)
    store.prepare()
    if at == 0:
        disk.fill()
    saves = {0: set(), 100: {50, 100}, 600: {599}}[at]
    [failed] = failures(run(batch, store, at={at: disk.fill}, saves=saves))
    assert failed.full
    assert "No space left on device" in failed.reason
    disk.heal()
    assert began(run(batch, store)) == [min(saves, default=0)]
    assert digests(store, batch) == unbroken
