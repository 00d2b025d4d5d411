"""Checkpoints on disk: what is read is what was written, or the file that is wrong is named."""

import errno
import io
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from uqbench.errors import CannotSaveError, StorageError, UqbenchError
from uqbench.results import Folder, Provenance
from uqbench.runner.checkpoints import (
    Checkpoint,
    Checkpointer,
    UnusableError,
    read,
    read_state,
    remove,
    write,
)
from uqbench.runner.process import Stop, Stopwatch

CPU = torch.device("cpu")
ABOUT = Checkpoint(
    seeds=(3, 4),
    runs=("a", "b"),
    step=7,
    seconds=1.5,
    cpu_seconds=1.2,
    began="2026-01-01T00:00:00+00:00",
    provenance=Provenance(platform="p", device="d", versions={}, content={}, git_revision=None),
    resumed=(),
)


def at(path: Path) -> Folder:
    return Folder(path.parent, (path.name,))


def state(**more: Any) -> dict[str, Any]:
    return {"agent": {"weights": torch.arange(6.0), "t": 7, "name": b"x", "none": None}, **more}


def test_what_is_read_is_what_was_written(tmp_path):
    given = state(more=[(1, 2.5), {0: torch.ones(2, dtype=torch.bool)}])
    write(at(tmp_path / "c"), ABOUT, given)
    about = read(at(tmp_path / "c"))
    assert about.model_copy(update={"state": "", "digest": ""}) == ABOUT
    found = read_state(at(tmp_path / "c"), about, CPU)
    assert torch.equal(found["agent"].pop("weights"), given["agent"].pop("weights"))
    assert torch.equal(found["more"][1].pop(0), given["more"][1].pop(0))
    assert found == given


def test_the_next_one_takes_the_place_of_the_last_and_of_what_was_left_half_written(tmp_path):
    write(at(tmp_path), ABOUT, state())
    (tmp_path / ".step-8.pt.99.tmp").write_bytes(b"half")
    write(at(tmp_path), ABOUT.model_copy(update={"step": 9}), state())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.json", "step-9.pt"]
    assert read(at(tmp_path)).step == 9


def test_a_state_that_was_written_without_its_description_changes_nothing(tmp_path):
    write(at(tmp_path), ABOUT, state())
    (tmp_path / "step-8.pt").write_bytes(b"killed here")
    assert read(at(tmp_path)).step == 7


@pytest.mark.parametrize("name", ["checkpoint.json", "step-7.pt"])
@pytest.mark.parametrize("damage", ["changed", "cut", "missing"])
def test_a_damaged_file_is_named(name, damage, tmp_path):
    write(at(tmp_path), ABOUT, state())
    path: Path = tmp_path / name
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[:-9])
    elif name == "checkpoint.json":
        path.write_bytes(data.replace(b'"seconds": 1.5', b'"seconds": 1.6'))
    else:
        path.write_bytes(data[:-99] + bytes([data[-99] ^ 1]) + data[-98:])
    with pytest.raises(UnusableError, match=name.replace(".", r"\.")):
        read(at(tmp_path))


@pytest.mark.parametrize(
    ("thing", "kind"),
    [
        (np.ones(2), "numpy.ndarray"),
        (np.float64(1), "numpy.float64"),
        ({1}, "builtins.set"),
        (b"", "empty bytes"),
    ],
)
def test_what_could_not_be_read_again_is_refused_by_its_name(thing, kind, tmp_path):
    with pytest.raises(CannotSaveError, match=rf"agent\.deep\[1\] is (a )?{kind}"):
        write(at(tmp_path), ABOUT, {"agent": {"deep": [1, thing]}})
    assert list(tmp_path.iterdir()) == []


def test_a_view_is_saved_without_what_it_is_a_view_of(tmp_path):
    write(at(tmp_path), ABOUT, {"view": torch.zeros(1_000_000)[:3]})
    assert (tmp_path / "step-7.pt").stat().st_size < 10_000


def test_removing_leaves_nothing_and_may_be_done_twice(tmp_path):
    write(at(tmp_path / "c"), ABOUT, state())
    remove(at(tmp_path / "c"))
    remove(at(tmp_path / "c"))
    assert list(tmp_path.iterdir()) == []


def test_only_the_files_of_a_checkpoint_are_removed_and_nothing_behind_a_link(tmp_path):
    folder, victim = tmp_path / "c", tmp_path / "victim"
    write(at(folder), ABOUT, state())
    victim.mkdir()
    (victim / "checkpoint.json").write_text("the user's")
    (folder / "notes.txt").write_text("the user's")
    (folder / "step-x.pt").write_text("the user's")
    (folder / "step-1.pt").mkdir()
    (folder / "step-2.pt").symlink_to(victim / "checkpoint.json")
    (folder / ".step-8.pt.99.tmp").write_bytes(b"half")
    write(at(folder), ABOUT.model_copy(update={"step": 9}), state())
    remove(at(folder))
    assert sorted(path.name for path in folder.iterdir()) == ["notes.txt", "step-1.pt", "step-x.pt"]
    (tmp_path / "link").symlink_to(victim)
    remove(at(tmp_path / "link"))
    assert (victim / "checkpoint.json").read_text() == "the user's"


class Kept:
    """A checkpointer, and what it said."""

    def __init__(self, folder: Path, every: float) -> None:
        self.written: list[int] = []
        self.told: list[str] = []
        self.stop = Stop()
        about = ABOUT.model_copy(update={"step": 0})
        tell, watch = self.told.append, Stopwatch()
        self.checkpointer = Checkpointer(
            at(folder), about, watch, every, self.stop, self.written.append, tell
        )


def test_checkpoints_are_rarer_where_they_take_long(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("uqbench.runner.checkpoints.time.monotonic", lambda: clock[0])
    kept = Kept(tmp_path, every=60.0)

    def slow() -> dict[str, Any]:
        clock[0] += 2.0
        return state()

    for step in range(1, 500):
        clock[0] += 1.0
        kept.checkpointer.after(step, slow)
    # the first after 60 s; from then on 100 times the two seconds that one takes
    assert kept.written == [60, 260, 460]


def test_asked_to_stop_it_writes_where_it_is_and_ends(tmp_path):
    kept = Kept(tmp_path, every=1000.0)

    def work() -> None:
        with kept.stop.deferred():
            for step in range(1, 5):
                if step == 2:
                    kept.stop.ask()
                kept.checkpointer.after(step, state)

    with pytest.raises(SystemExit):
        work()
    assert kept.written == [2]
    assert read(at(tmp_path)).step == 2


def test_outside_of_steps_it_ends_at_once():
    stop = Stop()
    with pytest.raises(SystemExit):
        stop.ask()
    stop = Stop()
    with pytest.raises(SystemExit), stop.deferred():
        stop.ask()


def test_what_cannot_be_saved_is_told_once_and_not_tried_again(tmp_path):
    kept, tried = Kept(tmp_path, every=1e-9), []

    def locked() -> dict[str, Any]:
        tried.append(1)
        return {"agent": threading.Lock()}

    for step in range(1, 5):
        kept.checkpointer.after(step, locked)
    assert len(tried) == len(kept.told) == 1
    assert "an interrupted run starts over: agent is a" in kept.told[0]


def test_a_full_disk_costs_a_checkpoint_and_not_the_run(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise UqbenchError("no space")

    kept = Kept(tmp_path, every=1e-9)
    monkeypatch.setattr("uqbench.runner.checkpoints.write", full)
    kept.checkpointer.after(1, state)
    assert kept.told == ["no checkpoint: no space"]
    assert kept.written == []


@pytest.mark.parametrize("name", ["checkpoint.json", "step-7.pt"])
def test_what_the_disk_does_not_give_is_not_taken_for_damaged(name, tmp_path, monkeypatch):
    write(at(tmp_path), ABOUT, state())
    original = os.open

    def failing(path: Any, *arguments: Any, **keywords: Any) -> int:
        if str(path).endswith(name):
            raise OSError(errno.EIO, "Input/output error")
        return original(path, *arguments, **keywords)

    with monkeypatch.context() as patched:
        patched.setattr("uqbench.results.folders.os.open", failing)
        with pytest.raises(StorageError, match=rf"{name} cannot be read: Input/output error"):
            read(at(tmp_path))
        if name == "step-7.pt":
            with pytest.raises(StorageError):
                read_state(at(tmp_path), ABOUT, CPU)
    assert read(at(tmp_path)).step == 7


@pytest.mark.parametrize("name", ["checkpoint.json", "step-7.pt"])
@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_is_damaged(name, kind, tmp_path):
    write(at(tmp_path / "c"), ABOUT, state())
    path = tmp_path / "c" / name
    path.rename(tmp_path / name)
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(tmp_path / name)
    else:
        os.mkfifo(path)
    with pytest.raises(UnusableError, match=name):
        read(at(tmp_path / "c"))


def test_other_bytes_than_torchs_are_damaged(tmp_path):
    write(at(tmp_path), ABOUT, state())
    (tmp_path / "step-7.pt").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(UnusableError, match="step-7"):
        read_state(at(tmp_path), ABOUT, CPU)


def test_a_full_device_is_told_from_other_trouble(tmp_path, monkeypatch):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    original = os.open
    monkeypatch.setattr(
        os,
        "open",
        lambda path, *rest, **keywords: (
            original("/dev/full", os.O_RDWR)
            if str(path).endswith(".tmp")
            else original(path, *rest, **keywords)
        ),
    )
    with pytest.raises(StorageError, match="No space left on device") as caught:
        write(at(tmp_path), ABOUT, state())
    assert caught.value.full
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_for_another_reason_says_that_one(tmp_path):
    from uqbench.runner.checkpoints import _save

    class Broken(io.BytesIO):
        def write(self, _data):
            try:
                return {}["inner"]
            except KeyError:
                raise RuntimeError("the real reason")  # noqa: B904

    with pytest.raises(RuntimeError, match="the real reason"):
        _save(state(), Broken())
