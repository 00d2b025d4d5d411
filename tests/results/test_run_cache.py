"""The cache of runs: what it says of a file that has changed, or does not say so, is no matter."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from example_runs import finish, make_record, make_run

from uqbench.results import run_cache
from uqbench.results import store as store_module
from uqbench.results.run_cache import FILE, RunCache, signature
from uqbench.results.store import RunState, Store
from uqbench.runner.states import stored_states

RUNS = 4


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of finished runs, all in its cache with their files."""
    monkeypatch.setattr(store_module, "MANY", 0)
    monkeypatch.setattr(run_cache, "FEWEST", 0)
    monkeypatch.setattr(run_cache, "LEAST_AGE_NS", -(10**12))
    root = tmp_path / "results"
    store = Store(root)
    for seed in range(RUNS):
        finish(store, make_run(seed), scalars={"reward": 0.125}, metrics={"reward": {}})
    look(root)
    assert (root / FILE).is_file()
    return root


def look(root: Path) -> list[RunState]:
    """The states of all runs, as a new command finds them."""
    store = Store(root)
    states = [store.find(make_run(seed)).state for seed in range(RUNS)]
    store.save_cache()
    return states


def rewrite(path: Path, data: bytes) -> None:
    """Other contents of the same size, under the old time of modification."""
    old = path.stat()
    assert len(data) == old.st_size
    path.write_bytes(data)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))


def test_what_is_remembered_is_what_the_file_says(cached):
    root = cached
    for seed in range(RUNS):
        folder = str(make_run(seed).folder)
        remembered = RunCache(root).read(folder)
        assert remembered == Store(root)._read(folder).record
        assert remembered.digest == remembered.compute_digest()


def test_what_is_remembered_is_not_read_again(cached, monkeypatch):
    def fail(*arguments: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(store_module, "read_record", fail)
    monkeypatch.setattr(store_module, "file_digest", fail)
    assert look(cached) == [RunState.FINISHED] * RUNS


@pytest.mark.parametrize("name", ["run.json", "metrics.parquet", "episodes.parquet"])
def test_a_file_that_was_altered_after_it_was_read_is_seen_though_its_time_was_put_back(
    name, cached
):
    path = cached / make_run(1).folder / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    rewrite(path, bytes(data))
    assert look(cached) == [
        RunState.FINISHED, RunState.DAMAGED, RunState.FINISHED, RunState.FINISHED
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["metrics.parquet", "run.json"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.rename(path.with_suffix(""))])
def test_a_file_that_is_gone_is_missed(damage: Callable[[Path], object], name, cached):
    damage(cached / make_run(1).folder / name)
    found = look(cached)[1]
    assert found is (RunState.MISSING if name == "run.json" else RunState.DAMAGED)


def test_a_link_in_place_of_a_folder_is_damage_though_the_files_behind_it_are_the_same(cached):
    folder = cached / make_run(1).folder
    aside = folder.rename(cached / "elsewhere")
    folder.symlink_to(aside)
    assert look(cached)[1] is RunState.DAMAGED


def test_a_cache_that_was_copied_with_its_folder_says_nothing_of_the_copy(cached, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(cached, copy)  # with times of modification
    assert (copy / FILE).is_file()
    assert [RunCache(copy).read(str(make_run(seed).folder)) for seed in range(RUNS)] == [
        None
    ] * RUNS
    assert look(copy) == [RunState.FINISHED] * RUNS


def text(words: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(words)


def other_code(path: Path) -> None:
    path.write_bytes(b"0" * 64 + path.read_bytes()[64:])


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
    "no lines": text(b"{}\n{"),
    "not UTF-8": lambda path: path.write_bytes(path.read_bytes().replace(b"suite", b"\xff\xfe")),
    "deep": lambda path: path.write_bytes(path.read_bytes().replace(b"{", b"[" * 100_000)),
    "a flipped bit": flipped,
    "of other code": other_code,
    "a pipe": pipe,
    "a link": link,
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_damaged_or_of_other_code_is_ignored_and_written_anew(what, cached):
    DAMAGE[what](cached / FILE)
    cache, files = RunCache(cached), Store(cached)
    folders = [str(make_run(seed).folder) for seed in range(RUNS)]
    remembered = [cache.read(folder) for folder in folders]
    assert None in remembered
    assert all(
        record in (None, files._read(folder).record)
        for folder, record in zip(folders, remembered, strict=True)
    )
    assert look(cached) == [RunState.FINISHED] * RUNS
    assert None not in [RunCache(cached).read(folder) for folder in folders]
    assert (cached / FILE).is_file()
    assert not (cached / FILE).is_symlink()


def test_a_folder_in_place_of_the_cache_costs_only_the_cache(cached):
    (cached / FILE).unlink()
    (cached / FILE).mkdir()
    assert look(cached) == [RunState.FINISHED] * RUNS


FORGERIES = {
    "a run's own number": (b"\t0.125\t", b"\t99.0\t"),
    "the digest of its results": (b'"results":"', b'"results":"0'),
    "what its cell shares": (b'"platform":"p"', b'"platform":"q"'),
    "another run's line": (b"task/method/1-", b"task/method/0-"),
    "no number": (b"\t0.125\t", b"\tNaN\t"),
    "a hole too many": (b'"platform":"p"', b'"platform":\t'),
    "a column too many": (b"\t0.125\t", b"\t0.125\t0.125\t"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_row_that_somebody_else_wrote_is_not_believed(what, cached):
    """It may state any signature, and has no digest of its own that could be made to match."""
    old, new = FORGERIES[what]
    data = (cached / FILE).read_bytes()
    assert old in data
    (cached / FILE).write_bytes(data.replace(old, new))
    assert look(cached) == [RunState.FINISHED] * RUNS
    store = Store(cached)
    for seed in range(RUNS):
        folder = str(make_run(seed).folder)
        assert store.read(folder) == Store(cached)._read(folder)
        assert store.read(folder).record.scalars == {"reward": 0.125}


def test_a_file_that_has_just_changed_is_not_remembered(cached, monkeypatch):
    monkeypatch.setattr(run_cache, "LEAST_AGE_NS", 60_000_000_000)
    (cached / FILE).unlink()
    look(cached)
    assert not (cached / FILE).exists()


def test_only_finished_runs_are_remembered(cached):
    store, run = Store(cached), make_run(RUNS)
    store.write(run, make_record(run, status="failed", reason="why"))
    states = {folder.name: found.state for folder, found in store.records()}
    assert sum(state is RunState.FAILED for state in states.values()) == 1
    assert RunCache(cached).read(str(run.folder)) is None


def test_runs_that_are_gone_are_forgotten(cached):
    shutil.rmtree(cached / make_run(1).folder)
    shutil.rmtree(cached / make_run(2).folder)
    assert len(list(Store(cached).records())) == RUNS - 2
    assert len(RunCache(cached)._lines) == RUNS - 2


def test_another_command_that_writes_the_cache_at_the_same_time_leaves_a_whole_one(cached):
    stores = [Store(cached) for _ in range(3)]
    for store in stores:
        if store is stores[0]:
            finish(store, make_run(RUNS))
        assert store.find(make_run(RUNS)).state is RunState.FINISHED
    for store in stores:
        store.save_cache()
    remembered = RunCache(cached).read(str(make_run(RUNS).folder))
    assert remembered == Store(cached)._read(str(make_run(RUNS).folder)).record


def test_looking_at_the_runs_of_a_plan_keeps_what_was_read(cached):
    (cached / FILE).unlink()
    plan = SimpleNamespace(runs=[make_run(seed) for seed in range(RUNS)])
    stored_states(plan, Store(cached))
    assert RunCache(cached).is_verified(str(make_run(0).folder), "metrics.parquet")


def test_a_signature_is_that_of_a_regular_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("a")
    first = signature(str(path))
    (tmp_path / "link").symlink_to(path)
    assert signature(str(tmp_path / "link")) is None
    assert signature(str(tmp_path)) is None
    path.write_text("b")
    assert signature(str(path)) != first
