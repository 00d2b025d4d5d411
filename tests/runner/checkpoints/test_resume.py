"""Wherever a batch is stopped, it resumes at that step, and ends as if uninterrupted."""

import io
import pickle
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from toy_runs import Command, began, digests, first_batch, plan_of, texts

from uqbench.results import Folder, RunState, Store
from uqbench.results.records import Saved
from uqbench.runner import Batch, make_batch_groups
from uqbench.runner.checkpoints import UnusableError, read, read_state, write
from uqbench.runner.resume import find_resume_point

# after the first step; around a record, a block of the recorder, an evaluation, and the end
STOPS = (1, 5, 6, 7, 255, 256, 257, 299, 300, 301, 599, 600)


def checkpoints(store: Store) -> list[Path]:
    return list(store.root.glob("*/*/*/*/*/checkpoint"))


def test_stopped_at_every_boundary_it_equals_an_unbroken_one(batch, run, unbroken, tmp_path):
    store = Store(tmp_path)
    assert [began(run(batch, store, until=step))[0] for step in STOPS] == [0, *STOPS[:-1]]
    assert (began(run(batch, store)), digests(store, batch)) == ([600], unbroken)
    record = store.read(batch.runs[0].folder).record
    assert record is not None
    assert [one.step for one in record.resumed] == list(STOPS)
    assert checkpoints(store) == []


@pytest.mark.parametrize("kind", ["versions", "content"])
@pytest.mark.parametrize("change", [lambda made: made | {"walk": "other"}, lambda made: {}])
def test_a_checkpoint_of_other_code_is_refused_by_name(batch, run, tmp_path, kind, change):
    store = Store(tmp_path)
    run(batch, store, until=100)
    made = store.read(batch.runs[0].folder).record.provenance
    assert find_resume_point(batch.runs, store, made).about.step == 100
    own = {**getattr(made, kind)}
    assert own  # else nothing could be other
    here = made.model_copy(update={kind: change(own)})
    named = "walk" if change(own) else ", ".join(sorted(own))
    with pytest.raises(UnusableError, match=f"was made with other {kind} of {re.escape(named)}$"):
        find_resume_point(batch.runs, store, here)


def test_agents_are_stored_of_runs_that_were_stopped_after_their_last_step(batch, run, tmp_path):
    store, keeping = Store(tmp_path), replace(batch, keep_agents=True)
    run(keeping, store, until=600)
    assert began(run(keeping, store)) == [600]
    assert all((store.folder(one) / "agent.pt").exists() for one in batch.runs)


def test_lanes_not_wanted_any_more_execute_along_and_are_not_stored(batch, run, unbroken, tmp_path):
    store = Store(tmp_path)
    run(batch, store, until=100)
    last, first = batch.of(batch.runs[2:]), batch.of(batch.runs[:2])
    assert began(run(last, store, until=200)) == [100]
    assert len(checkpoints(store)) == 2  # that of all, and that of the last
    assert began(run(last, store)) == [200]
    assert digests(store, last) == unbroken[2:]
    assert [store.read(r.folder).state for r in first.runs] == [RunState.ABANDONED] * 2
    assert (began(run(first, store)), digests(store, batch)) == ([100], unbroken)
    assert checkpoints(store) == []


def test_runs_that_share_a_checkpoint_are_a_batch_again(batch, host):
    plan = plan_of(host, methods=["fast"], tasks=["long"], seeds=range(6))
    shared = dict.fromkeys(plan.runs[1:4], "there")
    for lanes in (1, 2, 9):
        batches = [batch for (batch,) in make_batch_groups(plan, plan.runs, "cpu", lanes, shared)]
        assert batches[0].runs == plan.runs[1:4]
        rest = [one for batch in batches[1:] for one in batch.runs]
        assert rest == [run for run in plan.runs if run not in shared]


def test_a_checkpoint_of_other_runs_is_not_used(batch, run, host, tmp_path):
    store = Store(tmp_path)
    run(batch, store, until=100)
    [path] = checkpoints(store)
    stranger = first_batch(plan_of(host, methods=["slow"], tasks=["long"]))
    run(stranger, store, until=50)
    theirs = store.checkpoint_folder(stranger.runs[0]).path
    for file in theirs.iterdir():
        file.unlink()
    for file in path.iterdir():
        file.rename(theirs / file.name)
    assert began(run(stranger, store)) == [0]


def at(path: Path) -> Folder:
    return Folder(path.parent, (path.name,))


def rename_checkpoint(batch: Batch, store: Store, folder: str) -> None:
    """Let the runs' records, with right digests, name another folder."""
    for one in batch.runs:
        record = store.read(one.folder).record
        store.write(one, record.model_copy(update={"checkpoint": Saved(folder=folder, step=1)}))


CELL = "toy/paper/long/fast"


OTHER_FOLDERS = [
    "{outside}", "../outside", "toy/paper/long/slow/0-01234567/checkpoint",
    f"{CELL}/0-01234567/checkpoint/../../..", f"{CELL}/0-01234567/checkpoint\n",
    f"{CELL}/0-01234567", "toy/paper/../paper/long/fast/0-01234567/checkpoint"]  # fmt: skip


@pytest.mark.parametrize("named", OTHER_FOLDERS)
def test_a_record_of_another_folder_deletes_nothing(named, batch, run, unbroken, tmp_path):
    store, outside = Store(tmp_path / "results"), tmp_path / "outside"
    run(batch, store, until=100)
    others = [outside / "thesis.txt", outside / "0-01234567/checkpoint/checkpoint.json"]
    others += [store.root / "notes.txt", store.root / "toy/paper/long/slow/0-1/run.json"]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("the user's")
    rename_checkpoint(batch, store, named.format(outside=outside))
    found = store.find(batch.runs[0])
    assert found.state is RunState.DAMAGED
    assert "expected toy/paper/<task>/fast/<seed>-<8 hex digits>/check" in str(found.reason)
    told = run(batch, store)
    assert began(told) == [0]
    assert all(path.read_text() == "the user's" for path in others)
    assert sum("damaged run is kept as" in text for text in texts(told)) == 3
    assert digests(store, batch) == unbroken


@pytest.mark.parametrize("linked", ["checkpoint", "run"])
def test_a_checkpoint_behind_a_link_is_left_alone(linked, batch, run, unbroken, tmp_path):
    store, outside = Store(tmp_path / "results"), tmp_path / "outside"
    run(batch, store, until=100)
    folder = store.checkpoint_folder(batch.runs[0]).path
    folder = folder if linked == "checkpoint" else folder.parent
    folder.rename(outside)
    folder.symlink_to(outside)
    files = {path: path.read_bytes() for path in outside.glob("**/step-*.pt")}
    assert len(files) == 1
    told = run(batch, store, until=50)
    assert began(told) == [0]
    first, second, *_ = texts(told)
    if linked == "checkpoint":
        assert (first[:15], second[:15]) == ("starting over: ", "no checkpoint: ")
        assert all("checkpoint is a symbolic link" in text for text in texts(told))
    else:  # the link is set aside as damaged, and what it leads to is left alone
        assert first.startswith("the damaged run is kept as ")
        assert second.endswith("the runs do not share one checkpoint")
    assert began(run(batch, store)) == [0 if linked == "checkpoint" else 50]
    assert {path: path.read_bytes() for path in outside.glob("**/step-*.pt")} == files
    assert digests(store, batch) == unbroken


def test_a_checkpoint_outlives_a_record_that_names_it_wrongly(batch, run, unbroken, tmp_path):
    store = Store(tmp_path)
    first, last = batch.of(batch.runs[:2]), batch.of(batch.runs[2:])
    run(first, store, until=100)
    run(last, store, until=50)
    theirs = store.checkpoint_folder(first.runs[0]).path
    rename_checkpoint(last, store, theirs.relative_to(tmp_path).as_posix())
    assert (began(run(last, store)), began(run(first, store))) == ([0], [100])
    assert digests(store, batch) == unbroken


@pytest.mark.parametrize("where", ["environment", "file"])
def test_a_checkpoint_from_elsewhere_runs_no_command(where, batch, run, unbroken, tmp_path):
    store, mark = Store(tmp_path / "results"), tmp_path / "mark"
    run(batch, store, until=100)
    [folder] = checkpoints(store)
    about, evil = read(at(folder)), pickle.dumps(Command(f"touch {mark}"))
    state = read_state(at(folder), about, torch.device("cpu"))
    if where == "environment":  # as they were pickled once
        state[where] = {"envs": [evil] * 3, "length": torch.zeros(3), "valid": None}
        write(at(folder), about, state)
    else:
        file = io.BytesIO()
        torch.save({**state, "agent": Command(f"touch {mark}")}, file)
        (folder / "step-100.pt").write_bytes(file.getvalue())
        about = about.model_copy(update={"state": sha256(file.getvalue()).hexdigest()})
        about = about.model_copy(update={"digest": about.compute_digest()})
        (folder / "checkpoint.json").write_text(about.model_dump_json())
    told = run(batch, store)
    assert not mark.exists()
    assert any("starting over: " in text for text in texts(told))
    assert digests(store, batch) == unbroken


def test_a_checkpoint_that_lacks_a_part_begins_again_and_says_which(batch, run, unbroken, tmp_path):
    store = Store(tmp_path / "results")
    run(batch, store, until=100)
    [folder] = checkpoints(store)
    about = read(at(folder))
    state = read_state(at(folder), about, torch.device("cpu"))
    del state["recorder"]
    write(at(folder), about, state)
    told = run(batch, store)
    [notice] = texts(told)
    assert notice == "starting over: it has no recorder: another version wrote it"
    assert (began(told), digests(store, batch)) == ([100, 0], unbroken)


def test_an_environment_that_does_not_replay_begins_again(batch, run, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_DRIFTS", "1")
    store = Store(tmp_path)
    run(batch, store, until=100)
    told = run(batch, store)
    [notice] = texts(told)
    assert notice.startswith("starting over: the environment rejects its saved state")
    assert "Corridor does not replay" in notice
    assert began(told) == [100, 0]
    assert all(store.find(one).state is RunState.FINISHED for one in batch.runs)
