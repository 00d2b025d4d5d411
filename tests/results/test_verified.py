"""The index says what verified runs said, as long as their files are the same."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged import link, pipe, text
from example_runs import finish, make_record, make_run

from uqbench.results import Folder, RunState, Store, verified
from uqbench.results.verified import FILE
from uqbench.runner.states import stored_states

RUNS = 4
ALL = [make_run(seed).folder.name for seed in range(RUNS)]
FINISHED = [RunState.FINISHED] * RUNS
SCALARS = {"reward": 0.125, "none": None}
ONE_DAMAGED = [RunState.FINISHED, RunState.DAMAGED, *FINISHED[2:]]


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs of whose files digests were computed, in order."""
    seen: list[str] = []
    digest = Folder.digest

    def noted(folder: Folder, name: str, most: int | None = None) -> str:
        if name == "metrics.parquet":
            seen.append(folder.name)
        return digest(folder, name, most)

    monkeypatch.setattr(Folder, "digest", noted)
    return seen


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashed: list[str]) -> Path:
    """A store of finished runs, all in its index."""
    monkeypatch.setattr(verified, "FEWEST", 0)
    monkeypatch.setattr(verified, "LEAST_AGE_NS", -(10**12))
    root = tmp_path / "results"
    for seed in range(RUNS):
        finish(Store(root), make_run(seed), scalars=SCALARS, metrics={key: {} for key in SCALARS})
    assert look(root) == FINISHED
    hashed.clear()
    return root


def look(root: Path) -> list[RunState]:
    """The states of all runs, as a new command finds them."""
    store = Store(root)
    states = [store.find(make_run(seed)).state for seed in range(RUNS)]
    store.save_index()
    return states


@pytest.mark.parametrize("name", ["run.json", "metrics.parquet", "episodes.parquet"])
def test_a_file_that_was_altered_is_seen_though_its_time_was_put_back(name, indexed):
    path = indexed / make_run(1).folder / name
    data, old = bytearray(path.read_bytes()), path.stat()
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert look(indexed) == ONE_DAMAGED


@pytest.mark.parametrize("name", ["metrics.parquet", "run.json"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.rename(path.with_suffix(""))])
def test_a_file_that_is_gone_is_missed(damage, name, indexed):
    damage(indexed / make_run(1).folder / name)
    assert look(indexed)[1] is (RunState.MISSING if name == "run.json" else RunState.DAMAGED)


def test_an_index_copied_with_its_folder_says_nothing_of_the_copy(indexed, hashed, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(indexed, copy)  # with times of modification
    assert (copy / FILE).is_file()
    assert (look(copy), hashed) == (FINISHED, ALL)


def other(column: str, values: Callable[[list[object]], list[object]]) -> Callable[[Path], object]:
    """An index in which a column has other values."""

    def write(path: Path) -> None:
        table = pq.read_table(path)
        changed = pa.array(values(table[column].to_pylist()), table[column].type)
        pq.write_table(table.set_column(table.column_names.index(column), column, changed), path)

    return write


def other_records(path: Path) -> None:
    """An index whose common parts say something else of the metrics."""
    table = pq.read_table(path)
    about = table.schema.metadata[b"like"].replace(b'"reward"', b'"regret"')
    pq.write_table(table.replace_schema_metadata({b"like": about}), path)


def nested(path: Path) -> None:
    """An index whose places are lists, which no cast makes text."""
    table = pq.read_table(path)
    lists = pa.array([[place] for place in table["place"].to_pylist()])
    pq.write_table(table.set_column(table.column_names.index("place"), "place", lists), path)


DAMAGE = {
    "lists": nested,
    "gone": Path.unlink,
    "empty": text(b""),
    "another form": text(b"0-aaaaaaaa " + b"0" * 64 + b"\n\xff"),
    "rows of other runs": other("place", lambda all: [str(k) for k in range(len(all))]),
    "marks of other runs": other("mark", lambda all: all[::-1]),
    "other values": other("own", lambda all: [of.replace("0.125", "0.5") for of in all]),
    "no values": other("own", lambda all: [None for _ in all]),
    "another kind": other("kind", lambda all: ["7" for _ in all]),
    "other common parts": other_records,
    "a pipe": pipe,
    "a link": link,
}


@pytest.mark.parametrize("what", DAMAGE)
def test_an_index_that_is_damaged_or_false_costs_a_hash_and_is_written_anew(what, indexed, hashed):
    DAMAGE[what](indexed / FILE)
    assert look(indexed) == FINISHED
    assert {ALL[0]} <= {*hashed} <= {*ALL}
    assert Store(indexed).find(make_run(1)).record.scalars == SCALARS
    hashed.clear()
    assert (look(indexed), hashed) == (FINISHED, [])
    assert not (indexed / FILE).is_symlink()


def test_without_pyarrow_there_is_no_index_and_none_is_written(indexed, monkeypatch):
    place = str(make_run(1).folder)
    assert verified.Verified(Folder(indexed)).get(place) is not None
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    known = verified.Verified(Folder(indexed))
    assert known.get(place) is None
    known._new = {str(k): ("", "", "") for k in range(verified.FEWEST + 1)}
    assert not known.save()


def test_a_folder_in_place_of_the_index_costs_only_the_index(indexed, hashed):
    (indexed / FILE).unlink()
    (indexed / FILE).mkdir()
    assert look(indexed) == look(indexed) == FINISHED
    assert hashed == ALL * 2


def test_a_run_from_the_index_is_the_one_that_its_record_says(indexed):
    known = [Store(indexed).find(make_run(seed)) for seed in range(RUNS)]
    (indexed / FILE).unlink()
    assert [Store(indexed).find(make_run(seed)) for seed in range(RUNS)] == known
    assert known[1].record.identity == make_run(1).identity


def test_counting_runs_reads_no_record_of_a_verified_one_and_each_other_one(indexed, monkeypatch):
    changed = indexed / make_run(1).folder / "run.json"
    changed.write_text(changed.read_text().replace("finished", "fonished"))
    read, own = list[str](), Folder.read

    def noted(folder: Folder, name: str, most: int | None = None) -> bytes:
        read.append(str(folder / name))
        return own(folder, name, most)

    monkeypatch.setattr(Folder, "read", noted)
    states = {place: stored.state for place, stored in Store(indexed).walk()}
    assert read == [str(indexed / FILE), str(changed)]
    assert list(states.values()) == ONE_DAMAGED


def test_a_file_that_has_just_changed_is_not_remembered(indexed, monkeypatch):
    monkeypatch.setattr(verified, "LEAST_AGE_NS", 60_000_000_000)
    (indexed / FILE).unlink()
    assert look(indexed) == FINISHED
    assert not (indexed / FILE).exists()


def test_a_file_that_changes_while_it_is_verified_is_not_remembered(indexed, hashed, monkeypatch):
    (indexed / FILE).unlink()
    digest = Folder.digest

    def touching(folder: Folder, name: str, most: int | None = None) -> str:
        (folder / name).touch()
        return digest(folder, name, most)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "digest", touching)
        assert look(indexed) == FINISHED
    hashed.clear()
    assert (look(indexed), hashed) == (FINISHED, ALL)


def test_only_finished_runs_are_remembered(indexed):
    store, run = Store(indexed), make_run(RUNS)
    store.write(run, make_record(run, status="failed", reason="why"))
    assert store.find(run).state is RunState.FAILED
    (indexed / make_run(0).folder / "metrics.parquet").touch()
    assert look(indexed) == FINISHED
    assert sorted(pq.read_table(indexed / FILE)["place"].to_pylist()) == [
        make_run(seed).place for seed in range(RUNS)
    ]


def test_another_command_that_writes_the_index_at_the_same_time_leaves_a_whole_one(indexed, hashed):
    stores = [Store(indexed) for _ in range(3)]
    finish(stores[0], make_run(RUNS))
    for store in stores:
        assert store.find(make_run(RUNS)).state is RunState.FINISHED
    for store in stores:
        store.save_index()
    hashed.clear()
    assert look(indexed) == FINISHED
    assert Store(indexed).find(make_run(RUNS)).state is RunState.FINISHED
    assert hashed == []


def test_the_states_of_a_plan_keep_what_runs_were_made_with_and_no_record(indexed, hashed):
    (indexed / FILE).unlink()
    plan = SimpleNamespace(runs=[make_run(seed) for seed in range(RUNS)])
    states = stored_states(plan, Store(indexed)).values()
    assert all(stored.provenance.platform == "p" for stored in states)
    assert all(stored.record is None for stored in states)
    assert hashed == ALL
    assert look(indexed) == FINISHED  # they were kept
    assert hashed == ALL


def test_records_that_are_found_have_in_common_what_is_equal(indexed):
    (indexed / FILE).unlink()
    store = Store(indexed)
    together = [store.find(make_run(seed)).record for seed in range(RUNS)]
    assert together == [store.read(make_run(seed).place).record for seed in range(RUNS)]
    assert len({id(record.provenance) for record in together}) == 1
    assert len({id(record.metrics) for record in together}) == 1
