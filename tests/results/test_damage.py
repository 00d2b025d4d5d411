"""One bad file is one bad run: every reader says what is wrong with it, and continues."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import uqbench
from example_runs import EPISODES, METRICS, finish, make_record, make_run

from uqbench.errors import StorageError, UqbenchError
from uqbench.identity import digest_of
from uqbench.results import RunColumns, RunState, Store


def flip_top_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(b"status")] ^= 0x80
    path.write_bytes(data)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def text(words: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(words) and None


def sealed(**changes: Any) -> Callable[[Path], None]:
    """Edit a record, and seal it again: whoever wrote it meant it."""

    def edit(path: Path) -> None:
        table = json.loads(path.read_text()) | changes
        del table["digest"]
        path.write_text(json.dumps(table | {"digest": digest_of(table)}))

    return edit


def timing(**changes: Any) -> Callable[[Path], None]:
    return sealed(timing={"seconds": 1.0, "lanes": 1, "steps_per_s": 2.0} | changes)


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


SEED_0 = {"seed": 0, "budget": {"steps": 2}}

DAMAGE = {
    "a flipped top bit": flip_top_bit,
    "empty": text(""),
    "deep JSON": text("[" * 100_000),
    "deep JSON in a record": text('{"schema_version": 2, "identity": ' + "[" * 100_000),
    "a list": text("[]"),
    "a schema that is a word": text('{"schema_version": "2"}'),
    "a number of many digits": text('{"schema_version": ' + "9" * 5000 + "}"),
    "a folder": folder,
    "a pipe": pipe,
    "a link": link,
    "NaN as a step": sealed(step=float("nan")),
    "a huge step": sealed(step=10**400),
    "a step below zero": sealed(step=-1),
    "a step beyond the last": sealed(step=3),
    "a time that is none": sealed(began="then"),
    "a time of nowhere": sealed(updated="2026-01-01T00:00:00"),
    "a scalar that is NaN": sealed(scalars={"a": float("nan")}, metrics={"a": {}}),
    "a scalar without definition": sealed(scalars={"a": 1.0}, metrics={}),
    "no speed": timing(steps_per_s=0.0),
    "a speed of next to nothing": timing(steps_per_s=5e-324),
    "no lanes": timing(lanes=0),
    "infinite seconds": timing(seconds=float("inf")),
    "another identity": sealed(identity=SEED_0 | {"seed": 1}),
    "an identity without a budget": sealed(identity={"seed": 0}),
    "an identity whose budget is a word": sealed(identity={"seed": 0, "budget": "long"}),
    "an identity of no steps": sealed(identity={"seed": 0, "budget": {"steps": 0}}),
    "an identity of huge steps": sealed(identity={"seed": 0, "budget": {"steps": 10**400}}),
    "an identity of deep lists": sealed(identity=SEED_0 | {"x": deep(400)}),
    "a lone surrogate": text('{"schema_version": 2, "reason": "\\ud800"}'),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_record_is_one_damaged_run(what, tmp_path):
    store, good = Store(tmp_path), make_run(seed=1)
    finish(store, good)
    DAMAGE[what](finish(store, make_run()) / "run.json")
    assert store.find(make_run()).state is RunState.DAMAGED
    assert store.read(make_run().folder).reason
    states = {place: found.state for place, found in store.walk()}
    assert sorted(states.values(), key=str) == [RunState.DAMAGED, RunState.FINISHED]


@pytest.mark.parametrize("what", ["a flipped top bit", "deep JSON", "a pipe", "a step below zero"])
def test_status_goes_on_over_a_damaged_record(what, tmp_path):
    store = Store(tmp_path)
    finish(store, make_run(seed=1))
    DAMAGE[what](finish(store, make_run()) / "run.json")
    done = uqbench("status", "--out", tmp_path)
    assert done.stderr == ""
    assert "1 damaged, 1 finished" in done.stdout
    assert f"damaged: {make_run().folder}: run.json" in done.stdout


@pytest.mark.parametrize("name", ["metrics.parquet", "episodes.parquet"])
@pytest.mark.parametrize("damage", [folder, pipe, link, Path.unlink, text("PAR1")])
def test_a_data_file_that_is_none_is_a_damaged_run(damage, name, tmp_path):
    store, run = Store(tmp_path), make_run()
    damage(finish(store, run) / name)
    found = store.find(run)
    assert found.state is RunState.DAMAGED
    assert not found.unreadable
    assert name in str(found.reason)
    with pytest.raises(UqbenchError, match="is damaged, because"):
        store.columns(run)


@pytest.mark.parametrize(
    "table", [{"step": [1]}, {"step": [None]}, METRICS | {"metric": [None, 1]}, {}, b"valu\xe5"]
)
def test_a_table_of_another_schema_or_name_is_told_from_the_runs_own(table, tmp_path):
    store, run = Store(tmp_path), make_run()
    path = finish(store, run) / "metrics.parquet"
    if isinstance(table, bytes):
        path.write_bytes(path.read_bytes().replace(b"value", table))
    else:
        rows = {name: [str(v) if name == "metric" else v for v in c] for name, c in table.items()}
        pq.write_table(pa.table(rows), path)
    with pytest.raises(UqbenchError, match="damaged, because"):
        store.columns(run)


def test_what_could_not_be_read_again_is_not_stored(tmp_path):
    store, run = Store(tmp_path), make_run()
    record = make_record(run, scalars={"a": float("inf")}, status="finished")
    with pytest.raises(UqbenchError, match="scalars"):
        store.finish(run, record, RunColumns(METRICS, EPISODES))
    assert store.find(run).state is RunState.MISSING
    store.write(run, make_record(run, status="failed", reason="no file 'a\udcff'"))
    assert store.find(run).reason == r"no file 'a\udcff'"


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_lies_in_the_place_of_a_lock_hangs_nobody(kind, tmp_path):
    store, run = Store(tmp_path), make_run()
    with store.lock(run) as lock:
        store.write(run, make_record(run))
    make = {"folder": Path.mkdir, "pipe": os.mkfifo}
    make.get(kind, lambda path: path.symlink_to(tmp_path / "victim"))(lock.path)
    assert store.find(run).state is RunState.ABANDONED
    if kind == "pipe":
        with store.lock(run) as held:
            assert held is not None
    else:
        with pytest.raises(StorageError, match="cannot be locked"):
            store.lock(run)
    assert not (tmp_path / "victim").exists()


def test_a_run_whose_names_lead_elsewhere_is_not_stored(tmp_path):
    run = make_run()
    evil = type(run)("..", "..", "task", "method", 0, run.identity)
    with pytest.raises(UqbenchError, match="cannot be the name of a folder"):
        Store(tmp_path / "out").write(evil, make_record(evil))
    assert list(tmp_path.iterdir()) == []
