"""Wherever a batch is stopped, it goes on from that step, and ends as if it had not been."""

from pathlib import Path
from typing import Any

import pytest

from uqbench.registry.plugins import Host
from uqbench.results.store import RunState, Store
from uqbench.runner.batching.batches import Batch, make_programs
from uqbench.runner.checkpoints.checkpointer import Keeper, Stop
from uqbench.runner.events import Started
from uqbench.runner.worker import execute
from uqbench.suites.plan import Cell, make_plan
from uqbench.suites.reading import read_suites

TOY = Path(__file__).parents[2] / "toy"
# after the first step; around a record, a block of the recorder, an evaluation, and the end
STOPS = (1, 5, 6, 7, 255, 256, 257, 299, 300, 301, 599, 600)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    return Host.load()


@pytest.fixture
def batch(host: Host) -> Batch:
    """Three seeds of a method, as lanes of one program."""
    suite = read_suites(host).suite("toy")
    plan = make_plan(suite, host, device="cpu", methods=["fast"], tasks=["long"])
    return Batch(plan.cells[0], plan.budget, suite.metrics, "cpu")


def run(
    batch: Batch, store: Store, host: Host, monkeypatch: pytest.MonkeyPatch, until: int = 0
) -> int:
    """Run until it ends, or is asked to stop in step ``until``; the step that it began with."""
    told: list[Any] = []

    def after(keeper: Keeper, step: int, state: Any) -> None:
        keeper.stop.asked = step == until
        original(keeper, step, state)

    original = Keeper.after
    with monkeypatch.context() as patched:
        patched.setattr(Keeper, "after", after)
        try:
            execute((batch,), store, host, told.append, checkpoint_seconds=1000.0, stop=Stop())
        except SystemExit:
            assert until
        else:
            assert not until
    return next(event.step for event in told if isinstance(event, Started))


def digests(store: Store, batch: Batch) -> list[str]:
    assert all(store.find(run).state is RunState.FINISHED for run in batch.runs)
    records = (store.read(run.folder).record for run in batch.runs)
    return [record.digests["results"] for record in records if record is not None]


@pytest.fixture
def unbroken(batch: Batch, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    store = Store(tmp_path / "unbroken")
    assert run(batch, store, host, monkeypatch) == 0
    return digests(store, batch)


def checkpoints(store: Store) -> list[Path]:
    return list(store.root.glob("*/*/*/*/*/checkpoint"))


def test_stopped_at_every_kind_of_boundary_it_equals_an_unbroken_one(
    batch, host, unbroken, tmp_path, monkeypatch
):
    store = Store(tmp_path)
    began = [run(batch, store, host, monkeypatch, until=step) for step in STOPS]
    assert began == [0, *STOPS[:-1]]
    assert run(batch, store, host, monkeypatch) == 600
    assert digests(store, batch) == unbroken
    record = store.read(batch.runs[0].folder).record
    assert record is not None
    assert [one.step for one in record.resumed] == list(STOPS)
    assert checkpoints(store) == []


def test_lanes_that_are_not_wanted_any_more_execute_along_and_are_not_stored(
    batch, host, unbroken, tmp_path, monkeypatch
):
    store = Store(tmp_path)
    run(batch, store, host, monkeypatch, until=100)
    last, first = batch.of(batch.runs[2:]), batch.of(batch.runs[:2])
    assert run(last, store, host, monkeypatch, until=200) == 100
    assert len(checkpoints(store)) == 2  # that of all, and that of the last
    assert run(last, store, host, monkeypatch) == 200
    assert digests(store, last) == unbroken[2:]
    assert [store.read(r.folder).state for r in first.runs] == [RunState.ABANDONED] * 2
    assert run(first, store, host, monkeypatch) == 100
    assert digests(store, batch) == unbroken
    assert checkpoints(store) == []


def test_runs_that_share_a_checkpoint_are_a_batch_again(batch, host):
    suite = read_suites(host).suite("toy")
    plan = make_plan(suite, host, device="cpu", methods=["fast"], tasks=["long"], seeds=range(6))
    shared = dict.fromkeys(plan.runs[1:4], "there")
    for lanes in (1, 2, 9):
        batches = [batch for (batch,) in make_programs(plan, plan.runs, "cpu", lanes, shared)]
        assert batches[0].runs == plan.runs[1:4]
        rest = [one for batch in batches[1:] for one in batch.runs]
        assert rest == [run for run in plan.runs if run not in shared]


def test_a_checkpoint_of_other_runs_is_not_used(batch, host, unbroken, tmp_path, monkeypatch):
    store = Store(tmp_path)
    run(batch, store, host, monkeypatch, until=100)
    [path] = checkpoints(store)
    cell: Cell = batch.cell
    other = make_plan(
        read_suites(host).suite("toy"), host, device="cpu", methods=["slow"], tasks=["long"]
    ).cells[0]
    assert cell.method.name != other.method.name
    stranger = Batch(other, batch.budget, batch.metrics, "cpu")
    run(stranger, store, host, monkeypatch, until=50)
    theirs = store.checkpoint_folder(other.runs[0])
    for file in theirs.iterdir():
        file.unlink()
    for file in path.iterdir():
        file.rename(theirs / file.name)
    assert run(stranger, store, host, monkeypatch) == 0
