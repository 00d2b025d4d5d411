"""What a finished run lists by digest is verified, its agent too; nothing half stays."""

import os
from pathlib import Path

import pytest
from commands import python
from example_runs import EPISODES, METRICS, finish, make_record, make_run

from uqbench.identity import Run
from uqbench.results import RunColumns, RunState, Store, tables

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
    assert found.state is RunState.DAMAGED
    assert found.reason == reason


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
        ".notes.0123456789abcdef.tmp", ".runXjson.0123456789abcdef.tmp",
    ]  # fmt: skip
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
def test_training_files_that_a_killed_process_left_go_when_the_finished_run_is_found(
    records, tmp_path
):
    store, run = Store(tmp_path), named_run()
    folder = leave(store, run)
    assert store.find(run, records=records).state is RunState.FINISHED
    assert {path.name for path in folder.iterdir()} == {
        "run.json", "metrics.parquet", "episodes.parquet"
    }  # fmt: skip
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
