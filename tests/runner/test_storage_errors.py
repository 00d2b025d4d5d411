"""A disk that fails, or is full, costs a run nothing that was stored."""

import errno
import os
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch

from uqbench.errors import StorageError
from uqbench.registry import Host
from uqbench.results import Folder, RunState, Store
from uqbench.runner import Batch, execute
from uqbench.runner.checkpoints import Checkpointer, _save
from uqbench.runner.events import Failed, Notice, Split, Started
from uqbench.runner.process import Stop
from uqbench.suites import make_plan, read_suites

TOY = Path(__file__).parents[1] / "toy"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    return Host.load()


@pytest.fixture
def batch(host: Host) -> Batch:
    suite = read_suites(host).suite("toy")
    plan = make_plan(suite, host, device="cpu", methods=["fast"], tasks=["long"])
    return Batch(plan.cells[0], plan.budget, suite.metrics, "cpu")


class Disk:
    """A small disk of its own: how to fill it, and to make room again."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def fill(self) -> None:
        with (self.root / "filler").open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                with suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def free(self) -> None:
        (self.root / "filler").unlink(missing_ok=True)


class Pretended(Disk):
    """What a disk without room answers, where none may be mounted."""

    full = False

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(root)
        original = os.fsync

        def fsync(descriptor: int) -> None:
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            original(descriptor)

        monkeypatch.setattr("uqbench.results.folders.os.fsync", fsync)

    def fill(self) -> None:
        self.full = True

    def free(self) -> None:
        self.full = False


@pytest.fixture(params=["mounted", "pretended"])
def disk(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    if request.param == "pretended":
        yield Pretended(tmp_path, monkeypatch)
        return
    root = tmp_path / "disk"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(root)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a disk is not allowed here")
    try:
        yield Disk(root)
    finally:
        subprocess.run(["umount", str(root)], check=True)


def run(
    batch: Batch,
    store: Store,
    host: Host,
    monkeypatch: pytest.MonkeyPatch,
    at: Mapping[int, Callable[[], None]] = MappingProxyType({}),
    saves: Collection[int] = (),
    until: int = 0,
    hear: Callable[[Any], None] = lambda event: None,
) -> list[Any]:
    """Run; what it told.

    ``at``: what happens after a step; ``saves``: the steps after which, then, a checkpoint is due;
    ``until``: the step in which it is asked to stop.
    """
    told: list[Any] = []

    def after(checkpointer: Checkpointer, step: int, state: Any) -> None:
        at.get(step, lambda: None)()
        checkpointer._due = 0.0 if step in saves else np.inf
        checkpointer.stop.asked = step == until
        original(checkpointer, step, state)

    def report(event: Any) -> None:
        told.append(event)
        hear(event)

    original = Checkpointer.after
    with monkeypatch.context() as patched:
        patched.setattr(Checkpointer, "after", after)
        try:
            execute((batch,), store, host, report, checkpoint_seconds=1.0, stop=Stop())
        except SystemExit:
            assert until
    return told


def digests(store: Store, batch: Batch) -> list[str]:
    assert [store.find(run).state for run in batch.runs] == [RunState.FINISHED] * len(batch.runs)
    records = (store.read(run.folder).record for run in batch.runs)
    return [record.digests["results"] for record in records if record is not None]


@pytest.fixture
def unbroken(batch: Batch, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    store = Store(tmp_path / "unbroken")
    run(batch, store, host, monkeypatch)
    return digests(store, batch)


def notices(told: list[Any]) -> list[str]:
    return [event.text for event in told if isinstance(event, Notice)]


def test_a_record_that_cannot_be_written_under_way_is_told_once_and_costs_nothing(
    batch, host, unbroken, tmp_path, monkeypatch
):
    monkeypatch.setattr("uqbench.runner.worker.RECORD_SECONDS", 0.0)
    store = Store(tmp_path / "results")
    path = store.folder(batch.runs[1]) / "run.json"

    def block() -> None:
        path.unlink()
        (path / "in the way").mkdir(parents=True)

    def unblock() -> None:
        (path / "in the way").rmdir()
        path.rmdir()

    told = run(batch, store, host, monkeypatch, at={100: block, 200: unblock})
    [notice] = notices(told)
    assert notice.startswith(f"the run continues, but {path} cannot be written: Is a directory")
    assert digests(store, batch) == unbroken


def test_an_error_of_the_disk_under_way_costs_a_checkpoint_and_not_the_run(
    batch, host, unbroken, tmp_path, monkeypatch
):
    monkeypatch.setattr("uqbench.runner.worker.RECORD_SECONDS", 0.0)
    store, failing = Store(tmp_path / "results"), False
    original = os.fsync

    def fsync(descriptor: int) -> None:
        if failing:
            raise OSError(errno.EIO, "Input/output error")
        original(descriptor)

    def fail() -> None:
        nonlocal failing
        failing = True

    def heal() -> None:
        nonlocal failing
        failing = False

    monkeypatch.setattr("uqbench.results.folders.os.fsync", fsync)
    at = {100: fail, 200: heal}
    told = run(batch, store, host, monkeypatch, at, saves={50, 150, 250}, until=300)
    assert not any(isinstance(event, Failed | Split) for event in told)
    assert [text.split(":")[0].split(",")[0] for text in notices(told)] == [
        "the run continues",
        "no checkpoint",
    ]
    told = run(batch, store, host, monkeypatch)
    assert [event.step for event in told if isinstance(event, Started)] == [300]
    assert digests(store, batch) == unbroken


@pytest.mark.parametrize("what", ["checkpoint.json", "step-100.pt"])
def test_a_checkpoint_that_cannot_be_read_is_kept_and_the_run_fails_until_it_can(
    what, batch, host, unbroken, tmp_path, monkeypatch
):
    store = Store(tmp_path / "results")
    run(batch, store, host, monkeypatch, until=100)
    files = {path: path.read_bytes() for path in store.root.glob("**/checkpoint/*")}
    assert len(files) == 2
    original = os.open

    def failing(path: Any, *arguments: Any, **keywords: Any) -> int:
        if str(path).endswith(what):
            raise OSError(errno.EIO, "Input/output error")
        return original(path, *arguments, **keywords)

    with monkeypatch.context() as patched:
        patched.setattr("uqbench.results.folders.os.open", failing)
        told = run(batch, store, host, monkeypatch)
    [failed] = [event for event in told if isinstance(event, Failed | Split)]
    assert isinstance(failed, Failed)
    assert f"{what} cannot be read: Input/output error" in failed.reason
    assert [store.find(run).state for run in batch.runs] == [RunState.FAILED] * 3
    assert {path: path.read_bytes() for path in store.root.glob("**/checkpoint/*")} == files
    told = run(batch, store, host, monkeypatch)
    assert [event.step for event in told if isinstance(event, Started)] == [100]
    assert digests(store, batch) == unbroken


@pytest.mark.parametrize("name", ["run.json", "metrics.parquet"])
def test_a_finished_run_that_cannot_be_read_is_neither_moved_nor_run_again(
    name, batch, host, tmp_path, monkeypatch
):
    store = Store(tmp_path)
    run(batch, store, host, monkeypatch)
    before = {path: path.read_bytes() for path in tmp_path.glob("toy/**/*") if path.is_file()}
    original = os.open

    def failing(path: Any, *arguments: Any, **keywords: Any) -> int:
        if str(path).endswith(name):
            raise OSError(errno.EIO, "Input/output error")
        return original(path, *arguments, **keywords)

    with monkeypatch.context() as patched:
        patched.setattr("uqbench.results.folders.os.open", failing)
        told = run(batch, store, host, monkeypatch)
    assert [type(event) for event in told] == [Failed]
    after = {path: path.read_bytes() for path in tmp_path.glob("toy/**/*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize("at", [0, 100, 600])
def test_a_full_disk_fails_the_runs_which_resume_with_everything(
    at, disk, batch, host, unbroken, monkeypatch
):
    """Full before the first step, in the middle, and when the runs are stored."""
    store = Store(disk.root / "results")
    store.prepare()
    if at == 0:
        disk.fill()
    saves = {0: set(), 100: {50, 100}, 600: {599}}[at]
    told = run(batch, store, host, monkeypatch, {at: disk.fill}, saves)
    [failed] = [event for event in told if isinstance(event, Failed | Split)]
    assert isinstance(failed, Failed)
    assert failed.full
    assert "No space left on device" in failed.reason
    disk.free()
    told = run(batch, store, host, monkeypatch)
    assert [event.step for event in told if isinstance(event, Started)] == [min(saves, default=0)]
    assert digests(store, batch) == unbroken


def test_what_torch_says_of_a_full_disk_is_that_it_is_full(tmp_path):
    root = tmp_path / "disk"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(root)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a disk is not allowed here")
    try:
        with pytest.raises(StorageError, match="No space left on device") as told:
            Folder(root).write("step-1.pt", partial(_save, {"weights": torch.zeros(20_000)}))
    finally:
        subprocess.run(["umount", str(root)], check=True)
    assert told.value.full
