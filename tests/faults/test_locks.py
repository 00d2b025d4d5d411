"""File systems without locks, clocks that were set back: nothing finished is touched."""

import errno
import fcntl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from example_runs import make_record, make_run

from uqbench.api.status import run_status
from uqbench.errors import StorageError
from uqbench.identity import Run
from uqbench.results import RunColumns, RunState, Store


def write(store: Store, run: Run, status: str, hours: float = 0.0) -> None:
    when = (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="seconds")
    record = make_record(run, status=status, step=1, began=when, updated=when)
    if status == "finished":
        store.finish(run, record, RunColumns({}, {}))
    else:
        store.write(run, record)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS])
def test_without_locks_finished_runs_are_finished_and_no_run_is_begun(code, tmp_path, monkeypatch):
    store, finished, unfinished = Store(tmp_path), make_run(0), make_run(1)
    write(store, finished, "finished")
    write(store, unfinished, "running")
    assert store.lock(unfinished) is not None

    def flock(descriptor: int, operation: int) -> None:
        raise OSError(code, "no locks here")

    monkeypatch.setattr(fcntl, "flock", flock)
    before = {path: path.read_bytes() for path in Path(tmp_path).rglob("*") if path.is_file()}
    assert store.find(finished).state is RunState.FINISHED
    found = store.find(unfinished)
    assert found.unreadable
    assert "cannot be locked: no locks here" in str(found.reason)
    for run in (finished, unfinished):
        with pytest.raises(StorageError, match="cannot be locked: no locks here"):
            store.lock(run)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("hours", [-10_000.0, 10_000.0])
def test_a_clock_that_was_set_changes_no_state(hours, tmp_path):
    store = Store(tmp_path)
    for seed, status in enumerate(("finished", "running", "failed")):
        write(store, make_run(seed), status, hours)
    found = {place.rpartition("/")[2]: state.state for place, state in store.walk()}
    assert sorted(state.value for state in found.values()) == ["abandoned", "failed", "finished"]
    entries = [run_status(place, state, store, {}) for place, state in store.walk()]
    assert all(entry["seconds_left"] is None or entry["seconds_left"] >= 0 for entry in entries)
