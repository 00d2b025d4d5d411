"""The index is a cache of the files: what it says of a file that has changed does not count."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from example_runs import finish, make_record, make_run

from uqbench.results import index as module
from uqbench.results import store as store_module
from uqbench.results.index import Index
from uqbench.results.index_file import INDEX, signature
from uqbench.results.store import RunState, Store
from uqbench.runner.states import stored_states

RUNS = 4


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of finished runs, all in its index with their files."""
    monkeypatch.setattr(store_module, "MANY", 0)
    monkeypatch.setattr(module, "FEWEST", 0)
    monkeypatch.setattr(module, "SETTLED_NS", -(10**12))
    root = tmp_path / "results"
    store = Store(root)
    for seed in range(RUNS):
        finish(store, make_run(seed))
    look(root)
    assert (root / INDEX).is_file()
    return root


def look(root: Path) -> list[RunState]:
    """The states of all runs, as a new command finds them."""
    store = Store(root)
    states = [store.find(make_run(seed)).state for seed in range(RUNS)]
    store.save_index()
    return states


def rewrite(path: Path, data: bytes) -> None:
    """Other contents of the same size, under the old time of modification."""
    old = path.stat()
    assert len(data) == old.st_size
    path.write_bytes(data)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))


def test_what_is_remembered_is_what_the_file_says(indexed):
    root = indexed
    for seed in range(RUNS):
        folder = str(make_run(seed).folder)
        remembered = Index(root).record(folder)
        assert remembered == Store(root)._read(folder).record
        assert remembered.digest == remembered.compute_digest()


def test_what_is_remembered_is_not_read_again(indexed, monkeypatch):
    def fail(*arguments: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(store_module, "read_record", fail)
    monkeypatch.setattr(store_module, "file_digest", fail)
    assert look(indexed) == [RunState.FINISHED] * RUNS


@pytest.mark.parametrize("name", ["run.json", "metrics.parquet", "episodes.parquet"])
def test_a_file_that_was_altered_after_it_was_indexed_is_seen_though_its_time_was_put_back(
    name, indexed
):
    path = indexed / make_run(1).folder / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    rewrite(path, bytes(data))
    assert look(indexed) == [
        RunState.FINISHED, RunState.DAMAGED, RunState.FINISHED, RunState.FINISHED
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["metrics.parquet", "run.json"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.rename(path.with_suffix(""))])
def test_a_file_that_is_gone_is_missed(damage: Callable[[Path], object], name, indexed):
    damage(indexed / make_run(1).folder / name)
    found = look(indexed)[1]
    assert found is (RunState.MISSING if name == "run.json" else RunState.DAMAGED)


def test_a_link_in_place_of_a_folder_is_damage_though_the_files_behind_it_are_the_same(indexed):
    folder = indexed / make_run(1).folder
    aside = folder.rename(indexed / "elsewhere")
    folder.symlink_to(aside)
    assert look(indexed)[1] is RunState.DAMAGED


def test_an_index_that_was_copied_with_its_folder_says_nothing_of_the_copy(indexed, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(indexed, copy)  # with times of modification
    assert (copy / INDEX).is_file()
    assert [Index(copy).record(str(make_run(seed).folder)) for seed in range(RUNS)] == [None] * RUNS
    assert look(copy) == [RunState.FINISHED] * RUNS


def text(words: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(words)


def other_code(path: Path) -> None:
    first, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps(json.loads(first) | {"code": "0" * 64}).encode() + b"\n" + rest)


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_suffix(".moved")))


DAMAGE = {
    "empty": text(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "not JSON": text(b"{}\n{"),
    "a list": text(b"[]\n[]"),
    "deep": text(b"[" * 100_000),
    "a flipped bit": flipped,
    "of other code": other_code,
    "a pipe": pipe,
    "a link": link,
}


@pytest.mark.parametrize("what", DAMAGE)
def test_an_index_that_is_damaged_or_of_other_code_is_ignored_and_written_anew(what, indexed):
    DAMAGE[what](indexed / INDEX)
    assert Index(indexed).record(str(make_run(0).folder)) is None
    assert look(indexed) == [RunState.FINISHED] * RUNS
    assert Index(indexed).record(str(make_run(0).folder)) is not None
    assert (indexed / INDEX).is_file()
    assert not (indexed / INDEX).is_symlink()


def test_a_folder_in_place_of_the_index_costs_only_the_index(indexed):
    (indexed / INDEX).unlink()
    (indexed / INDEX).mkdir()
    assert look(indexed) == [RunState.FINISHED] * RUNS


def test_a_row_of_parts_that_are_not_there_is_ignored(indexed):
    made = Index(indexed)
    made._shared.clear()
    assert made.record(str(make_run(0).folder)) is None


def test_a_file_that_has_just_changed_is_not_remembered(indexed, monkeypatch):
    monkeypatch.setattr(module, "SETTLED_NS", 60_000_000_000)
    (indexed / INDEX).unlink()
    look(indexed)
    assert not (indexed / INDEX).exists()


def test_only_finished_runs_are_remembered(indexed):
    store, run = Store(indexed), make_run(RUNS)
    store.write(run, make_record(run, status="failed", reason="why"))
    states = {folder.name: found.state for folder, found in store.records()}
    assert sum(state is RunState.FAILED for state in states.values()) == 1
    assert Index(indexed).record(str(run.folder)) is None


def test_runs_that_are_gone_are_forgotten(indexed):
    shutil.rmtree(indexed / make_run(1).folder)
    shutil.rmtree(indexed / make_run(2).folder)
    assert len(list(Store(indexed).records())) == RUNS - 2
    assert len(Index(indexed)._rows) == RUNS - 2


def test_another_command_that_writes_the_index_at_the_same_time_leaves_a_whole_one(indexed):
    stores = [Store(indexed) for _ in range(3)]
    for store in stores:
        if store is stores[0]:
            finish(store, make_run(RUNS))
        assert store.find(make_run(RUNS)).state is RunState.FINISHED
    for store in stores:
        store.save_index()
    remembered = Index(indexed).record(str(make_run(RUNS).folder))
    assert remembered == Store(indexed)._read(str(make_run(RUNS).folder)).record


def test_looking_at_the_runs_of_a_plan_keeps_what_was_read(indexed):
    (indexed / INDEX).unlink()
    plan = SimpleNamespace(runs=[make_run(seed) for seed in range(RUNS)])
    stored_states(plan, Store(indexed))
    assert Index(indexed).is_verified(str(make_run(0).folder), "metrics.parquet")


def test_a_signature_is_that_of_a_regular_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("a")
    first = signature(str(path))
    (tmp_path / "link").symlink_to(path)
    assert signature(str(tmp_path / "link")) is None
    assert signature(str(tmp_path)) is None
    path.write_text("b")
    assert signature(str(path)) != first
