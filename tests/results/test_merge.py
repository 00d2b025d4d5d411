"""Stores are merged by identity: nothing is overwritten, conflicts and half copies are told."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from uqbench.boards.provenance import provenance
from uqbench.contract.errors import UqbenchError
from uqbench.contract.identity import Run
from uqbench.results.merge import Outcome, merge
from uqbench.results.records import Provenance, RunRecord
from uqbench.results.scores import Making, Score
from uqbench.results.store import RunState, Store, now, this_process
from uqbench.results.tables import RunColumns


def make_run(seed: int) -> Run:
    names = {"suite": "s", "budget": "b", "task": "t", "method": "m"}
    identity = {key: {"name": name} for key, name in names.items()} | {"seed": seed}
    identity["budget"] = {"name": "b", "steps": 2}
    return Run("s", "b", "t", "m", seed, identity)


def write(root: Path, seed: int, value: float = 1.0, status: str = "finished", version="1") -> Run:
    store, run = Store(root), make_run(seed)
    made = Provenance(
        platform="p", device="d", versions={"torch": version}, content={}, git_revision=None
    )
    record = RunRecord(
        identity=dict(run.identity), status=status, step=1, began=now(), updated=now(),
        process=this_process(), provenance=made,
    )  # fmt: skip
    if status == "finished":
        store.finish(run, record, RunColumns({"value": np.array([value])}, {}))
    else:
        store.write(run, record)
    return run


def fates(*sources: Path, into: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in merge(sources, into):
        found.setdefault(one.outcome.value, []).append(f"{one.source.name}/{one.run.name[0]}")
    return found


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".locks" not in path.parts
    }


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path, Path]:
    a, b = tmp_path / "a", tmp_path / "b"
    for seed in (0, 1):
        write(a, seed)
    for seed in (1, 2):
        write(b, seed)
    return a, b, tmp_path / "c"


def test_runs_of_both_are_copied_once_and_a_second_time_nothing_happens(two):
    a, b, c = two
    assert fates(a, b, into=c) == {
        "copied": ["a/0", "a/1", "b/2"], "there already": ["b/1"]
    }  # fmt: skip
    before = snapshot(c)
    assert [Store(c).find(make_run(seed)).state for seed in range(3)] == [RunState.FINISHED] * 3
    assert fates(a, b, into=c) == {"there already": ["a/0", "a/1", "b/1", "b/2"]}
    assert snapshot(c) == before
    assert {name: before[name] for name in snapshot(a)} == snapshot(a)


def test_a_board_tells_of_merged_runs_where_they_are_from(two):
    a, b, c = two
    write(c, 3)
    fates(a, b, into=c)
    link = c / make_run(2).place / "origin.json"
    link.unlink()
    link.symlink_to(c / make_run(0).place / "origin.json")
    store, scores = Store(c), []
    for seed in range(4):
        record = store.find(run := make_run(seed)).record
        made = Making(None, record.began, record.updated, record.provenance, record.metrics)
        row = (run.task, run.method, seed, "finished", "cpu", None, {}, run.place)
        scores.append(Score(*row, made=made))
    origins = {one.origin.split(" of ")[0].rpartition("?")[2]: one.runs
               for one in provenance(scores, store)}  # fmt: skip
    assert origins == {"a": 2, "": 1, "unknown": 1}


def test_other_results_of_a_run_are_refused_with_what_differs(two):
    a, b, c = two
    shutil.rmtree(b)
    write(b, 1, value=2.0, version="2")
    found = list(merge([a, b], c))
    [conflict] = [one for one in found if one.outcome is Outcome.CONFLICT]
    assert conflict.source == b
    assert conflict.reason == f"other results than in {c}; made with other versions"
    assert Store(c).find(make_run(1)).record == Store(a).find(make_run(1)).record


def test_a_copy_made_in_the_middle_of_a_run_is_recognized(two):
    a, _, c = two
    write(a, 3, status="running")
    lock = Store(a).lock(make_run(3))
    copy = a.parent / "copy"
    shutil.copytree(a, copy)
    half = Store(copy).folder(make_run(0)) / "metrics.parquet"
    half.write_bytes(half.read_bytes()[:-5])
    (Store(copy).folder(make_run(1)) / "episodes.parquet").unlink()
    found = {one.run.name[0]: (one.outcome, one.reason) for one in merge([copy], c)}
    assert found == {
        "0": (Outcome.DAMAGED, "metrics.parquet does not match its digest"),
        "1": (Outcome.DAMAGED, "episodes.parquet is missing"),
        "3": (Outcome.UNFINISHED, "it was running when it was copied, at step 1"),
    }
    assert not c.exists()
    assert lock is not None
    lock.release()


def test_a_run_in_the_folder_of_another_is_refused(two):
    a, _, c = two
    other = a / "s" / "b" / "t" / "other"
    shutil.copytree(a / "s" / "b" / "t" / "m", other)
    reasons = {str(one.run.parent.name): one.reason for one in merge([a], c)}
    assert "of another suite, budget, task or method" in reasons["other"]
    assert not list(c.glob("s/b/t/other/*"))


def test_what_the_target_is_working_on_or_has_damaged_is_left(two):
    a, _, c = two
    write(c, 0)
    path = Store(c).folder(make_run(0)) / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"step": 2}))
    lock = Store(c).lock(make_run(1))
    found = {one.run.name[0]: one.reason for one in merge([a], c)}
    assert "damaged in" in found["0"]
    assert "a process is working on it" in found["1"]
    assert lock is not None
    lock.release()


def test_a_folder_without_runs_and_the_target_itself_are_refused(two, tmp_path):
    a, _, c = two
    (tmp_path / "empty").mkdir()
    with pytest.raises(UqbenchError, match="there are no runs in"):
        list(merge([tmp_path / "empty"], c))
    with pytest.raises(UqbenchError, match="is the target itself"):
        list(merge([a], a))
