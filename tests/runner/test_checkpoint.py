"""An interrupted run equals an uninterrupted one, bit for bit; interrupts, and runs made again."""

import json
import os
import shutil
import signal
import subprocess

# ruff: noqa: PT012 (what is raised at the end of a block is raised by its last statement)
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from clusters import records, results, wait_for
from commands import begin, uqbench

from uqbench.errors import StorageError
from uqbench.identity import Run
from uqbench.registry.contents import content_hash
from uqbench.results import Provenance, RunColumns, RunRecord, RunState, Store, now, this_process
from uqbench.results.earlier import move_earlier
from uqbench.runner.drive import deferred_interrupts
from uqbench.runner.states import code_note, make_room, stored_states, to_do
from uqbench.runner.watcher import Watcher
from uqbench.suites import Selection

SLOW = ("--methods", "slow", "--set", "slow.step_seconds=0.004")
PAIRS = (*SLOW, "--tasks", "long", "--seeds", "8")  # one worker takes two seeds at a time
ALONE = (*SLOW, "--tasks", "long", "--seeds", "1")
NEVER = ("--checkpoint-seconds", "10000")  # but where the run is interrupted


def start(out: Path, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
    return begin(
        out, *arguments, variables=variables, start_new_session=True,
        # a shell's background job ignores SIGINT, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def run(out: Path, *arguments: str, code: int = 0, **variables: str) -> str:
    """What a run that comes to its end says."""
    command = ("run", "--suite", "toy", "--out", out, *arguments)
    return uqbench(*command, code=code, variables=variables).stderr


def saved(out: Path) -> list[dict]:
    found = records(out).values()
    return [record["checkpoint"] for record in found if record["checkpoint"] is not None]


def cut_off(out: Path, *arguments: str, lanes: int) -> None:
    """Kill a run after its first checkpoint; its worker notices, and writes a last one."""
    process = start(out, *arguments, "--workers", "1", "--checkpoint-seconds", "0.2")
    wait_for(lambda: len(saved(out)) == lanes, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    wait_for(lambda: not any_alive(out))


def interrupt(out: Path, with_: signal.Signals, *arguments: str, **variables: str) -> None:
    """Interrupt a run in its middle; its worker may still be there for a moment."""
    log = Path(variables.setdefault("TOY_STEPS", str(out.with_name(f"{out.name}-steps"))))
    process = start(out, *arguments, "--workers", "1", *NEVER, **variables)
    wait_for(lambda: log.exists() and len(log.read_text().split()) > 50, process)
    process.send_signal(with_)
    process.communicate(timeout=60)
    assert process.returncode == (-with_ if with_ is signal.SIGKILL else 130)
    wait_for(lambda: not any_alive(out))


def any_alive(out: Path) -> bool:
    for record in records(out).values():
        try:
            os.kill(record["process"]["pid"], 0)
        except ProcessLookupError:
            continue
        return True
    return False


def checkpoints(out: Path) -> Sequence[Path]:
    return sorted(out.glob("toy/*/*/*/*/checkpoint"))


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of the results of runs that nothing cut off."""
    out = tmp_path_factory.mktemp("unbroken")
    run(out, "--methods", "slow", "--tasks", "long", "--seeds", "8", "--workers", "1")
    return results(out)


@pytest.fixture(scope="module")
def one_interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder whose run was interrupted in its middle; ``log`` beside it has its steps."""
    out = tmp_path_factory.mktemp("interrupted") / "results"
    interrupt(out, signal.SIGINT, *ALONE, TOY_STEPS=str(out.with_name("log")))
    return out


@pytest.fixture
def interrupted(one_interrupted: Path, tmp_path: Path) -> Path:
    """A copy of it, in a folder of the test's own."""
    return Path(shutil.copytree(one_interrupted.parent, tmp_path / "copy")) / "results"


def test_runs_that_were_killed_go_on_elsewhere_and_equal_unbroken_ones(unbroken, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    cut_off(here, *PAIRS, lanes=2)
    pair = [f"long/slow/{seed}" for seed in (0, 1)]
    step = records(here)[pair[0]]["checkpoint"]["step"]
    assert 0 < step < 600
    assert [records(here)[name]["checkpoint"] for name in pair] == saved(here)
    assert len(checkpoints(here)) == 1  # lanes share one
    shutil.copytree(here, there)
    stderr = run(there, *PAIRS, "--workers", "2")
    assert f"2 interrupted: again, 2 from step {step}." in stderr
    assert f"long/slow/0-1: resumed from step {step}" in stderr
    assert results(there) == unbroken
    for name, record in records(there).items():
        assert [one["step"] for one in record["resumed"]] == ([step] if name in pair else [])
    assert checkpoints(there) == []


INTERRUPTS = pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL


@pytest.mark.parametrize("kind", INTERRUPTS, ids=lambda kind: kind.name)
def test_no_step_of_an_interrupted_run_is_lost_or_repeated(kind, unbroken, interrupted, tmp_path):
    out, log = interrupted, interrupted.with_name("log")
    if kind is signal.SIGKILL:
        out, log = tmp_path / "results", tmp_path / "steps"
        interrupt(out, kind, *ALONE, TOY_STEPS=str(log))
    taken = len(log.read_text().splitlines())
    assert 0 < taken < 600
    assert [one["step"] for one in saved(out)] == [taken]
    run(out, *ALONE, TOY_STEPS=str(log))
    assert [int(step) for step in log.read_text().splitlines()] == list(range(600))
    assert results(out).items() <= unbroken.items()


def test_status_says_where_a_run_goes_on(interrupted):
    step = saved(interrupted)[0]["step"]
    text = uqbench("status", "--out", interrupted).stdout
    assert "1 interrupted" in text
    assert f"its process is gone; resumes from step {step} of 600" in text
    listed = uqbench("status", "--out", interrupted, "--json").stdout
    assert [entry["checkpoint_step"] for entry in json.loads(listed)] == [step]


def test_an_environment_that_cannot_be_saved_is_told_once_and_runs(unbroken, tmp_path):
    told = run(tmp_path, *PAIRS, "--workers", "1", "--checkpoint-seconds", "0.1", TOY_UNSAVABLE="1")
    assert told.count("an interrupted run starts over: the environment cannot be saved") == 1
    assert "the corridor is in another process" in told
    assert (results(tmp_path), checkpoints(tmp_path)) == (unbroken, [])


def test_zero_seconds_means_no_checkpoints(tmp_path):
    process = start(tmp_path, *ALONE, "--checkpoint-seconds", "0")
    wait_for(lambda: records(tmp_path))
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    wait_for(lambda: not any_alive(tmp_path))
    assert (saved(tmp_path), checkpoints(tmp_path)) == ([], [])


@pytest.mark.parametrize(
    ("failure", "kept"), [pytest.param("raise_at", False, marks=pytest.mark.long), ("die_at", True)]
)
def test_an_error_removes_the_checkpoint_and_a_death_does_not(failure, kept, unbroken, tmp_path):
    out, healed = tmp_path / "results", tmp_path / "healed"
    settings = (*ALONE, "--set", f"slow.{failure}=400", "--set", f"slow.healed={healed}")
    run(out, *settings, "--checkpoint-seconds", "0.1", code=1)
    assert len(saved(out)) == len(checkpoints(out)) == int(kept)
    healed.touch()
    assert ("resumed from step" in run(out, *settings)) == kept
    assert results(out).items() <= unbroken.items()


def strike() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_one_during_a_sleep_ends_it():
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), deferred_interrupts() as interrupts:
        threading.Timer(0.2, strike).start()
        interrupts.sleep(60.0)
    assert time.monotonic() - began < 30.0


def test_one_before_the_end_is_raised_there():
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        strike()


def test_a_second_one_is_raised_at_once():
    reached = False
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        strike()
        reached = True
        strike()
        sum(range(1000))
        pytest.fail("it waited")
    assert reached


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_waits_for_the_next_sleep_and_what_was_there_before_is_there_again(ending):
    """Also what a scheduler or a closed terminal sends, where it interrupts."""
    before = signal.signal(ending, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), deferred_interrupts() as interrupts:
            os.kill(os.getpid(), ending)
            sum(range(1000))
            interrupts.sleep(0.0)
            pytest.fail("it was lost")
        assert signal.getsignal(ending) is signal.default_int_handler
    finally:
        signal.signal(ending, before)


def test_another_thread_has_none():
    found, before = [], signal.getsignal(signal.SIGINT)

    def work() -> None:
        with deferred_interrupts() as interrupts:
            interrupts.sleep(0.0)
            found.append((interrupts.came, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(False, before)]


SELECTION = Selection("toy", "smoke", ("fast",), ("short",))


def finish(store: Store, run: Run, content: dict[str, str]) -> None:
    made = Provenance(platform="p", device="d", versions={}, content=content, git_revision=None)
    record = RunRecord(
        identity=dict(run.identity), status="finished", step=1, began=now(), updated=now(),
        process=this_process(), provenance=made)  # fmt: skip
    store.finish(run, record, RunColumns({"value": np.array([1.0])}, {}))


@pytest.fixture
def stored(host, tmp_path):
    """A plan of two runs: one of this code, and one of another uqbench and of a file."""
    plan, store = SELECTION.plan(host, "cpu"), Store(tmp_path)
    here = {"uqbench": content_hash("uqbench")}
    new, old = plan.runs
    finish(store, new, here)
    finish(store, old, {"uqbench": "0" * 64, "local-mine": "1" * 64, "gone_package": "2" * 64})
    return plan, store, new, old


def test_only_installed_packages_whose_contents_differ_are_told(stored):
    plan, store, _, _ = stored
    note = code_note(stored_states(plan, store).values())
    assert "1 finished run (gone_package, uqbench)" in note


def test_rerun_makes_runs_of_other_code_again_and_keeps_them_as_a_store(stored, tmp_path):
    plan, store, new, old = stored
    before = (store.folder(old) / "run.json").read_bytes()
    assert make_room(plan, store, Watcher().say) == [old]
    assert to_do(stored_states(plan, store)) == {old}
    earlier = Store(tmp_path / ".earlier" / "1")
    assert earlier.find(old).state is RunState.FINISHED
    assert (earlier.folder(old) / "run.json").read_bytes() == before
    assert [place for place, _ in store.walk()] == [new.place]
    # made again, it is of this code; what is of this code is never moved
    finish(store, old, {"uqbench": content_hash("uqbench")})
    assert make_room(plan, store, Watcher().say) == []
    assert not (tmp_path / ".earlier" / "2").exists()


def test_a_second_generation_does_not_replace_the_first(stored, tmp_path):
    plan, store, _, old = stored
    make_room(plan, store, Watcher().say)
    finish(store, old, {"uqbench": "3" * 64})
    make_room(plan, store, Watcher().say)
    found = [Store(tmp_path / ".earlier" / n).find(old).record for n in "12"]
    assert [one.provenance.content["uqbench"][0] for one in found] == ["0", "3"]


def test_a_run_that_another_process_has_locked_stays(stored):
    plan, store, _, old = stored
    with Store(store.root).lock(old):
        assert make_room(plan, store, Watcher().say) == []
    assert store.find(old).state is RunState.FINISHED


def test_runs_are_not_moved_through_a_link(stored, tmp_path):
    plan, store, _, old = stored
    elsewhere = tmp_path.parent / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / ".earlier").symlink_to(elsewhere)
    with pytest.raises(StorageError, match="symbolic link"):
        make_room(plan, store, Watcher().say)
    assert store.find(old).state is RunState.FINISHED


def test_a_run_that_was_made_again_meanwhile_stays(stored):
    _, store, _, old = stored
    _, moved = move_earlier(store, [old], lambda found: False)  # as it is under the lock
    assert (moved, store.find(old).state) == ([], RunState.FINISHED)
