"""An interrupted run resumes from its checkpoint, and equals an uninterrupted one bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from clusters import records, results, wait_for
from commands import TOY, uqbench

SLOW = ("--methods", "slow", "--set", "slow.step_seconds=0.004")
PAIRS = (*SLOW, "--tasks", "long", "--seeds", "8")  # one worker takes two seeds at a time
ALONE = (*SLOW, "--tasks", "long", "--seeds", "1")
NEVER = ("--checkpoint-seconds", "10000")  # but where the run is interrupted


def start(out: Path, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "uqbench", "run", "--suite", "toy", "--out", str(out)]
    env = os.environ | {"PYTHONPATH": str(TOY), "COLUMNS": "200"} | variables
    return subprocess.Popen(
        [*command, *arguments], env=env, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
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
    stderr = run(
        tmp_path, *PAIRS, "--workers", "1", "--checkpoint-seconds", "0.1", TOY_UNSAVABLE="1"
    )
    assert stderr.count("an interrupted run starts over: the environment cannot be saved") == 1
    assert "the corridor is in another process" in stderr
    assert results(tmp_path) == unbroken
    assert checkpoints(tmp_path) == []


def test_zero_seconds_means_no_checkpoints(tmp_path):
    process = start(tmp_path, *ALONE, "--checkpoint-seconds", "0")
    wait_for(lambda: records(tmp_path))
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    wait_for(lambda: not any_alive(tmp_path))
    assert saved(tmp_path) == []
    assert checkpoints(tmp_path) == []


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
