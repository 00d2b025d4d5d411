"""The cache of runs: what it says of a file that has changed, or does not say so, is no matter."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from example_runs import finish, make_record, make_run

from uqbench.results import run_cache
from uqbench.results import store as store_module
from uqbench.results.folders import Folder
from uqbench.results.records import RunRecord
from uqbench.results.run_cache import FILE, RunCache
from uqbench.results.store import RunState, Store
from uqbench.runner.states import stored_states

RUNS = 4
INDEX = make_run(0).folder.parent / FILE


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of finished runs, all in its cache with their files."""
    monkeypatch.setattr(run_cache, "FEWEST", 0)
    monkeypatch.setattr(run_cache, "LEAST_AGE_NS", -(10**12))
    root = tmp_path / "results"
    store = Store(root)
    for seed in range(RUNS):
        finish(store, make_run(seed), scalars={"reward": 0.125}, metrics={"reward": {}})
    look(root)
    assert (root / INDEX).is_file()
    return root


def remembered(root: Path, seed: int) -> RunRecord | None:
    """What the cache of a store says of a run."""
    store = Store(root)
    place = make_run(seed).place
    return RunCache(store.top).read(place, store.at(place))


def from_file(root: Path, seed: int) -> RunRecord | None:
    store = Store(root)
    return store._read(store.at(make_run(seed).place)).record


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
    for seed in range(RUNS):
        record = remembered(cached, seed)
        assert record is not None
        assert record == from_file(cached, seed)
        assert record.digest == record.compute_digest()
        assert type(record.process) is type(from_file(cached, seed).process)


def test_what_is_remembered_is_not_read_again(cached, monkeypatch):
    def fail(*arguments: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(store_module, "read_record", fail)
    monkeypatch.setattr(Folder, "digest", fail)
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
    assert (copy / INDEX).is_file()
    assert [remembered(copy, seed) for seed in range(RUNS)] == [None] * RUNS
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
    "not UTF-8": lambda path: path.write_bytes(path.read_bytes().replace(b"budget", b"\xff\xfe")),
    "deep": lambda path: path.write_bytes(path.read_bytes().replace(b"{", b"[" * 100_000)),
    "a flipped bit": flipped,
    "of other code": other_code,
    "a pipe": pipe,
    "a link": link,
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_damaged_or_of_other_code_is_ignored_and_written_anew(what, cached):
    DAMAGE[what](cached / INDEX)
    records = [remembered(cached, seed) for seed in range(RUNS)]
    assert None in records
    assert all(record in (None, from_file(cached, seed)) for seed, record in enumerate(records))
    assert look(cached) == [RunState.FINISHED] * RUNS
    assert None not in [remembered(cached, seed) for seed in range(RUNS)]
    assert (cached / INDEX).is_file()
    assert not (cached / INDEX).is_symlink()


def test_a_folder_in_place_of_the_cache_costs_only_the_cache(cached):
    (cached / INDEX).unlink()
    (cached / INDEX).mkdir()
    assert look(cached) == [RunState.FINISHED] * RUNS


FORGERIES = {
    "a run's own number": (b"[0.125]", b"[99.0]"),
    "the digest of its results": (b'"results":"', b'"results":"0'),
    "what its cell shares": (b'"platform":"p"', b'"platform":"q"'),
    "another run's line": (b"\n1-", b"\n0-"),
    "no number": (b"[0.125]", b"[NaN]"),
    "a number too many": (b"[0.125]", b"[0.125,0.125]"),
    "a column too many": (b"[0.125]", b"[0.125]\t"),
}


def forged(path: Path, what: str, sealed: bool) -> None:
    """Another row in place of a true one, perhaps with the digest of the whole made to match."""
    old, new = FORGERIES[what]
    first, rest = path.read_bytes().split(b"\n", 1)
    assert old in rest
    rest = rest.replace(old, new)
    if sealed:
        first = first.split()[0] + b" " + sha256(rest).hexdigest().encode()
    path.write_bytes(first + b"\n" + rest)


def check_is_not_believed(root: Path) -> None:
    assert [remembered(root, seed) for seed in range(RUNS)] == [None] * RUNS
    assert look(root) == [RunState.FINISHED] * RUNS
    store = Store(root)
    for seed in range(RUNS):
        record = store.read(make_run(seed).folder).record
        assert record == from_file(root, seed)
        assert record.scalars == {"reward": 0.125}


@pytest.mark.parametrize("what", FORGERIES)
def test_an_altered_row_is_not_believed(what, cached):
    forged(cached / INDEX, what, sealed=False)
    check_is_not_believed(cached)


def test_a_file_that_others_may_write_is_not_believed_and_not_written(cached):
    forged(cached / INDEX, "a run's own number", sealed=True)
    believed = remembered(cached, 0)
    assert believed is not None  # else nothing is tried
    assert believed.scalars == {"reward": 99.0}
    (cached / INDEX).chmod(0o664)
    umask = os.umask(0)
    try:
        check_is_not_believed(cached)
    finally:
        os.umask(umask)
    assert not (cached / INDEX).stat().st_mode & 0o022


def test_a_file_of_another_user_is_not_believed(cached, monkeypatch):
    forged(cached / INDEX, "a run's own number", sealed=True)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    check_is_not_believed(cached)


@pytest.mark.parametrize("name", ["method\ntask", "method\ttask", "meth\udcffod"])
def test_a_folder_whose_name_could_be_a_line_is_not_remembered(name, cached):
    run = make_run(0)
    above = (cached / run.folder).parent
    shutil.copytree(above, above.with_name(name))
    assert len([*Store(cached).states()]) == 2 * RUNS
    cell = str(make_run(0).folder.parent)
    names = {make_run(seed).folder.name for seed in range(RUNS)}
    assert {*RunCache(Folder(cached))._of(cell)} == names


def test_a_file_that_has_just_changed_is_not_remembered(cached, monkeypatch):
    monkeypatch.setattr(run_cache, "LEAST_AGE_NS", 60_000_000_000)
    (cached / INDEX).unlink()
    look(cached)
    assert not (cached / INDEX).exists()


def test_only_finished_runs_are_remembered(cached):
    store, run = Store(cached), make_run(RUNS)
    store.write(run, make_record(run, status="failed", reason="why"))
    states = {folder.name: found.state for folder, found in store.records()}
    assert sum(state is RunState.FAILED for state in states.values()) == 1
    assert remembered(cached, RUNS) is None


def test_what_is_remembered_goes_with_the_folder_of_its_cell(cached):
    other = replace(make_run(1), method="other")
    finish(Store(cached), other)
    assert len(list(Store(cached).records())) == RUNS + 1
    place = other.place.rpartition("/")[0]
    assert [*RunCache(Folder(cached))._of(place)] == [other.folder.name]
    shutil.rmtree(cached / place)
    assert not RunCache(Folder(cached))._of(place)
    assert len(list(Store(cached).records())) == RUNS


def test_another_command_that_writes_the_cache_at_the_same_time_leaves_a_whole_one(cached):
    stores = [Store(cached) for _ in range(3)]
    for store in stores:
        if store is stores[0]:
            finish(store, make_run(RUNS))
        assert store.find(make_run(RUNS)).state is RunState.FINISHED
    for store in stores:
        store.save_cache()
    assert remembered(cached, RUNS) == from_file(cached, RUNS) is not None


def test_the_states_of_a_plan_keep_what_runs_were_made_with_and_no_record_in_memory(
    cached, monkeypatch
):
    plan = SimpleNamespace(runs=[make_run(seed) for seed in range(RUNS)])
    states = stored_states(plan, Store(cached))
    with monkeypatch.context() as patch:
        patch.setattr(Store, "record", lambda *_: pytest.fail("read again"))
        assert all(stored.provenance.platform == "p" for stored in states.values())
    for seed, stored in enumerate(states.values()):
        assert "record" not in vars(stored)
        assert stored.record == from_file(cached, seed)


def test_many_runs_are_found_as_each_is_alone(cached):
    shutil.rmtree(cached / make_run(1).folder)
    (cached / make_run(2).folder).rename(cached / "elsewhere")
    (cached / make_run(2).folder).symlink_to(cached / "elsewhere")
    runs = [make_run(seed) for seed in range(RUNS)]
    states = [stored.state for stored in Store(cached).find_all(runs)]
    assert states == [RunState.FINISHED, RunState.MISSING, RunState.DAMAGED, RunState.FINISHED]
    assert states == [Store(cached).find(run).state for run in runs]


def test_looking_at_the_runs_of_a_plan_keeps_what_was_read(cached):
    (cached / INDEX).unlink()
    plan = SimpleNamespace(runs=[make_run(seed) for seed in range(RUNS)])
    stored_states(plan, Store(cached))
    run, cache = make_run(0), RunCache(Folder(cached))
    above = Folder(cached).at(run.place).parent
    assert cache.verified(run.place, run.digest, above) is not None
    assert cache.verified(run.place, make_run(1).digest, above) is None
    (cached / run.folder / "episodes.parquet").touch()
    assert cache.verified(run.place, run.digest, above) is None


def test_a_signature_is_that_of_a_regular_file(tmp_path):
    path, folder = tmp_path / "file", Folder(tmp_path)
    path.write_text("a")
    [first] = folder.signatures("file")
    assert first is not None
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "below").mkdir()
    assert folder.signatures("link", "below", "none") == [None, None, None]
    (tmp_path / "below" / "file").write_text("a")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "below")
    assert folder.signatures("file", inside="below") == folder.signatures("below/file")
    assert folder.signatures("file", inside="elsewhere") == [None]
    path.write_text("b")
    assert folder.signatures("file") != [first]
