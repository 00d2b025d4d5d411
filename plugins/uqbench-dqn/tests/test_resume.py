"""A run of a DQN killed by SIGKILL resumes elsewhere, and equals an uninterrupted one."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SHORT = ("--suite", "minatar", "--budget", "smoke", "--tasks", "breakout", "--seeds", "1",
         "--steps", "3000")  # fmt: skip


def command(out: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "uqbench", "run", "--out", str(out), *SHORT, *arguments]


def records(out: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(out.glob("*/*/*/*/*/run.json"))]


@pytest.mark.long
@pytest.mark.parametrize("method", ["qr-dqn"])
def test_a_killed_run_resumes_and_equals_an_uninterrupted_one(method, tmp_path):
    # a ring that is full and written over again, and learning from early on
    small = ("--methods", method, "--set", f"{method}.replay_capacity=300",
             "--set", f"{method}.learning_starts=100", "--device", "cpu")  # fmt: skip
    uninterrupted, here, there = (tmp_path / name for name in ("uninterrupted", "here", "there"))
    subprocess.run(command(uninterrupted, *small), check=True, capture_output=True)
    process = subprocess.Popen(
        command(here, *small, "--workers", "1", "--checkpoint-seconds", "0.5"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not any(one["checkpoint"] and one["checkpoint"]["step"] > 100 for one in records(here)):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    shutil.copytree(here, there)
    again = subprocess.run(command(there, *small), check=True, capture_output=True, text=True)
    assert "resumed from step" in again.stderr
    assert any(one["resumed"] for one in records(there))
    assert [one["digests"]["results"] for one in records(there)] == [
        one["digests"]["results"] for one in records(uninterrupted)
    ]
