"""One bad file is one bad run; what a finished run lists by digest is verified."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import python, uqbench
from damaged import folder, link, pipe, text
from example_runs import EPISODES, METRICS, finish, make_record, make_run

from uqbench.errors import StorageError, UqbenchError
from uqbench.identity import Run, digest_of
from uqbench.results import RunColumns, RunState, Store, tables


def flip_top_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(b"status")] ^= 0x80
    path.write_bytes(data)


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
    "a flipped top bit": flip_top_bit, "empty": text(b""), "deep JSON": text(b"[" * 100_000),
    "deep JSON in a record": text(b'{"schema_version": 2, "identity": ' + b"[" * 100_000),
    "a list": text(b"[]"), "a schema that is a word": text(b'{"schema_version": "2"}'),
    "a number of many digits": text(b'{"schema_version": ' + b"9" * 5000 + b"}"),
    "a folder": folder, "a pipe": pipe, "a link": link, "NaN as a step": sealed(step=float("nan")),
    "a huge step": sealed(step=10**400), "a step below zero": sealed(step=-1),
    "a step beyond the last": sealed(step=3), "a time that is none": sealed(began="then"),
    "a time of nowhere": sealed(updated="2026-01-01T00:00:00"),
    "a scalar that is NaN": sealed(scalars={"a": float("nan")}, metrics={"a": {}}),
    "a scalar without definition": sealed(scalars={"a": 1.0}, metrics={}),
    "no speed": timing(steps_per_s=0.0), "a speed of next to nothing": timing(steps_per_s=5e-324),
    "no lanes": timing(lanes=0), "infinite seconds": timing(seconds=float("inf")),
    "another identity": sealed(identity=SEED_0 | {"seed": 1}),
    "an identity without a budget": sealed(identity={"seed": 0}),
    "an identity whose budget is a word": sealed(identity={"seed": 0, "budget": "long"}),
    "an identity of no steps": sealed(identity={"seed": 0, "budget": {"steps": 0}}),
    "an identity of huge steps": sealed(identity={"seed": 0, "budget": {"steps": 10**400}}),
    "an identity of deep lists": sealed(identity=SEED_0 | {"x": deep(400)}),
    "a lone surrogate": text(b'{"schema_version": 2, "reason": "\\ud800"}'),
}  # fmt: skip


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
@pytest.mark.parametrize("damage", [folder, pipe, link, Path.unlink, text(b"PAR1")])
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


NOBODY = 65534
AGENT = b"state of an agent " * 100_000
STATUS_AS_ANOTHER_USER = f"""
import os, sys
from uqbench.cli.status import command
import uqbench_cluster.jobs
import uqbench.api.status
import uqbench.runner.checkpoints
if os.getuid() == 0:
    os.setgid({NOBODY}); os.setuid({NOBODY})
command(["--out", "results", *sys.argv[1:]])
"""


def named_run(seed: int = 0) -> Run:
    parts = {part: {"name": part[0]} for part in ("suite", "budget", "task", "method")}
    parts["budget"]["steps"] = 2
    return Run("s", "b", "t", "m", seed, parts | {"seed": seed})


def keep(store: Store, run: Run, agent: bytes | None = AGENT) -> Path:
    record = make_record(run, status="running", step=2)
    if agent is not None:
        record = store.train(run, record, {"agent.pt": agent, "training.pt": b"a state"})
    done = record.model_copy(update={"status": "finished"})
    store.finish(run, done, RunColumns(METRICS, EPISODES))
    return store.folder(run)


def alter(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def grow(path: Path) -> None:
    os.truncate(path, tables.MOST_BYTES + 1)  # sparse: takes no room


DAMAGES = [
    (alter, "agent.pt does not match its digest"),
    (Path.unlink, "agent.pt is missing"),
    (grow, "agent.pt: it has more than 4,294,967,296 bytes"),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGES)
def test_a_run_whose_agent_is_altered_gone_or_too_large_is_damaged(damage, reason, tmp_path):
    store, run = Store(tmp_path), make_run()
    path = keep(store, run) / "agent.pt"
    assert store.find(run).state is RunState.FINISHED
    damage(path)
    found = store.find(run)
    assert (found.state, found.reason) == (RunState.DAMAGED, reason)


LISTED = [
    ({"../../precious": "0" * 64}, "lists digests of '../../precious'; expected metrics"),
    ({"metrics.parquet": None}, "lists no digest of metrics.parquet"),
]


@pytest.mark.parametrize(("listed", "reason"), LISTED)
def test_a_record_that_lists_other_files_than_runs_have_is_damaged(listed, reason, tmp_path):
    store, run = Store(tmp_path), make_run()
    path, record = finish(store, run) / "run.json", store.find(run).record
    digests = {name: digest for name, digest in (record.digests | listed).items() if digest}
    path.unlink()
    store.write(run, record.model_copy(update={"digests": digests}))
    found = store.find(run)
    assert found.state is RunState.DAMAGED
    assert reason in found.reason


def test_half_written_files_of_killed_writers_go_when_the_run_is_locked_and_nothing_else(tmp_path):
    store, run = Store(tmp_path / "results"), make_run()
    folder = finish(store, run)
    left = [f".{name}.0123456789abcdef.tmp" for name in ("run.json", "agent.pt", "metrics.parquet")]
    stays = [
        ".run.json.0123456789abcdeg.tmp", ".run.json.0123.tmp", "run.json.0123456789abcdef.tmp",
        ".notes.0123456789abcdef.tmp", ".runXjson.0123456789abcdef.tmp"]  # fmt: skip
    for name in (*left, *stays):
        (folder / name).write_bytes(b"half")
    (folder / ".episodes.parquet.0123456789abcdef.tmp").mkdir()
    before = {path.name for path in folder.iterdir()}
    with store.lock(run):
        assert {path.name for path in folder.iterdir()} == before - set(left)


def leave(store: Store, run: Run) -> Path:
    """A finished run whose process was killed before it removed the files of its training."""
    folder = keep(store, run, agent=None)
    for name in ("agent.pt", "training.pt"):
        (folder / name).write_bytes(b"left")
    return folder


@pytest.mark.parametrize("records", [True, False])
def test_training_files_that_a_killed_process_left_go_when_the_run_is_found(records, tmp_path):
    store, run = Store(tmp_path), named_run()
    folder = leave(store, run)
    assert store.find(run, records=records).state is RunState.FINISHED
    assert {path.name for path in folder.iterdir()} == {
        "run.json", "metrics.parquet", "episodes.parquet"}  # fmt: skip
    assert store.find(run).state is RunState.FINISHED


def test_training_files_stay_while_another_process_holds_the_lock(tmp_path):
    store, run = Store(tmp_path), named_run()
    folder = leave(store, run)
    with store.lock(run) as lock:
        assert lock is not None
        assert Store(tmp_path).find(run).state is RunState.FINISHED
        assert (folder / "agent.pt").exists()
    assert Store(tmp_path).find(run).state is RunState.FINISHED
    assert not (folder / "agent.pt").exists()


def test_training_files_of_a_run_that_is_being_made_again_stay(tmp_path, monkeypatch):
    store, run = Store(tmp_path), named_run()
    folder, lock = leave(store, run), store.lock

    def others_first(one: Run) -> object:
        (folder / "agent.pt").write_bytes(b"of another")
        return lock(one)

    monkeypatch.setattr(store, "lock", others_first)
    store.find(run)
    assert (folder / "agent.pt").read_bytes() == b"of another"


def test_what_another_process_that_holds_the_lock_is_writing_stays(tmp_path):
    store, run = Store(tmp_path), make_run()
    with store.lock(run):
        temporary = finish(store, run) / ".run.json.0123456789abcdef.tmp"
        temporary.write_bytes(b"half")
        assert store.lock(run) is None
        assert temporary.exists()


def test_status_names_a_folder_of_runs_that_may_not_be_listed(tmp_path):
    store = Store(tmp_path / "results")
    finish(store, make_run())
    method = store.folder(make_run()).parent
    method.with_name("open").mkdir()
    tmp_path.chmod(0o755)
    method.chmod(0o700 if os.getuid() == 0 else 0)
    try:
        done = python("-c", STATUS_AS_ANOTHER_USER, folder=tmp_path)
    finally:
        method.chmod(0o700)
    said = "damaged: suite/budget/task/method: the folder cannot be read: Permission denied"
    assert said in done.stdout
