"""Checkpoints on disk: what is read is what was written, or the file that is wrong is named."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from uqbench.errors import CannotSaveError
from uqbench.results import Folder, Provenance
from uqbench.runner import checkpoints
from uqbench.runner.process import Stop, Stopwatch

PROVENANCE = Provenance(platform="p", device="d", versions={}, content={}, git_revision=None)
ABOUT = checkpoints.Checkpoint(
    seeds=(3, 4), runs=("a", "b"), step=7, seconds=1.5, cpu_seconds=1.2, resumed=(),
    began="2026-01-01T00:00:00+00:00", provenance=PROVENANCE)  # fmt: skip


def at(path: Path) -> Folder:
    return Folder(path.parent, (path.name,))


def state(**more: Any) -> dict[str, Any]:
    return {"agent": {"weights": torch.arange(6.0), "t": 7, "name": b"x", "none": None}, **more}


def test_what_is_read_is_what_was_written(tmp_path):
    given = state(more=[(1, 2.5), {0: torch.ones(2, dtype=torch.bool)}])
    checkpoints.write(at(tmp_path / "c"), ABOUT, given)
    about = checkpoints.read(at(tmp_path / "c"))
    assert about.model_copy(update={"state": "", "digest": ""}) == ABOUT
    found = checkpoints.read_state(at(tmp_path / "c"), about, torch.device("cpu"))
    assert torch.equal(found["agent"].pop("weights"), given["agent"].pop("weights"))
    assert torch.equal(found["more"][1].pop(0), given["more"][1].pop(0))
    assert found == given


def test_the_next_one_takes_the_place_of_the_last_and_of_what_was_left_half_written(tmp_path):
    checkpoints.write(at(tmp_path), ABOUT, state())
    (tmp_path / ".step-8.pt.99.tmp").write_bytes(b"half")
    checkpoints.write(at(tmp_path), ABOUT.model_copy(update={"step": 9}), state())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.json", "step-9.pt"]
    assert checkpoints.read(at(tmp_path)).step == 9


def test_a_state_that_was_written_without_its_description_changes_nothing(tmp_path):
    checkpoints.write(at(tmp_path), ABOUT, state())
    (tmp_path / "step-8.pt").write_bytes(b"killed here")
    assert checkpoints.read(at(tmp_path)).step == 7


def changed(path: Path) -> None:
    data = path.read_bytes()
    at = data.index(b"1.5") if path.suffix == ".json" else len(data) - 99
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


DAMAGES = {
    "changed": changed,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "missing": Path.unlink,
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link": lambda path: path.symlink_to(path.rename(path.parent.parent / "elsewhere")),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("name", ["checkpoint.json", "step-7.pt"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named(name, damage, tmp_path):
    checkpoints.write(at(tmp_path / "c"), ABOUT, state())
    DAMAGES[damage](tmp_path / "c" / name)
    with pytest.raises(checkpoints.UnusableError, match=name.replace(".", r"\.")):
        checkpoints.read(at(tmp_path / "c"))


UNREADABLE = [
    (np.ones(2), "numpy.ndarray"),
    (np.float64(1), "numpy.float64"),
    ({1}, "builtins.set"),
    (b"", "empty bytes"),
]


@pytest.mark.parametrize(("thing", "kind"), UNREADABLE)
def test_what_could_not_be_read_again_is_refused_by_its_name(thing, kind, tmp_path):
    with pytest.raises(CannotSaveError, match=rf"agent\.deep\[1\] is (a )?{kind}"):
        checkpoints.write(at(tmp_path), ABOUT, {"agent": {"deep": [1, thing]}})
    assert list(tmp_path.iterdir()) == []


def test_a_view_is_saved_without_what_it_is_a_view_of(tmp_path):
    checkpoints.write(at(tmp_path), ABOUT, {"view": torch.zeros(1_000_000)[:3]})
    assert (tmp_path / "step-7.pt").stat().st_size < 10_000


def test_only_the_files_of_a_checkpoint_are_removed_and_nothing_behind_a_link(tmp_path):
    folder, victim = tmp_path / "c", tmp_path / "victim"
    checkpoints.write(at(folder), ABOUT, state())
    victim.mkdir()
    (victim / "checkpoint.json").write_text("the user's")
    (folder / "notes.txt").write_text("the user's")
    (folder / "step-x.pt").write_text("the user's")
    (folder / "step-1.pt").mkdir()
    (folder / "step-2.pt").symlink_to(victim / "checkpoint.json")
    (folder / ".step-8.pt.99.tmp").write_bytes(b"half")
    checkpoints.write(at(folder), ABOUT.model_copy(update={"step": 9}), state())
    for _ in range(2):
        checkpoints.remove(at(folder))
    assert sorted(path.name for path in folder.iterdir()) == ["notes.txt", "step-1.pt", "step-x.pt"]
    (tmp_path / "link").symlink_to(victim)
    checkpoints.remove(at(tmp_path / "link"))
    assert (victim / "checkpoint.json").read_text() == "the user's"


def test_checkpoints_are_rarer_where_they_take_long(tmp_path, monkeypatch):
    clock, written, told = [0.0], [], []
    monkeypatch.setattr("uqbench.runner.checkpoints.time.monotonic", lambda: clock[0])
    about = ABOUT.model_copy(update={"step": 0})
    checkpointer = checkpoints.Checkpointer(
        at(tmp_path), about, Stopwatch(), 60.0, Stop(), written.append, told.append
    )

    def slow() -> dict[str, Any]:
        clock[0] += 2.0
        return state()

    for step in range(1, 500):
        clock[0] += 1.0
        checkpointer.after(step, slow)
    # the first after 60 s; from then on 100 times the two seconds that one takes
    assert (written, told) == ([60, 260, 460], [])


def test_outside_of_steps_it_ends_at_once():
    with pytest.raises(SystemExit):
        Stop().ask()
    stop = Stop()
    with pytest.raises(SystemExit), stop.deferred():
        stop.ask()


def test_a_file_that_cannot_be_written_for_another_reason_says_that_one(tmp_path):
    class Broken(io.BytesIO):
        def write(self, _data):
            try:
                return {}["inner"]
            except KeyError:
                raise RuntimeError("the real reason")  # noqa: B904

    with pytest.raises(RuntimeError, match="the real reason"):
        checkpoints._save(state(), Broken())
