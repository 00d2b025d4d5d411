"""submitit's executor for one machine stands in for Slurm: time limits, requeues, a dead driver."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("submitit") is None:
    pytest.skip("needs submitit: tox -e slurm", allow_module_level=True)

TOY = Path(__file__).parents[3] / "tests" / "toy"
SLOW = ("--methods", "slow", "--tasks", "long", "--set", "slow.step_seconds=0.09")
STEPS = 600  # 54 s: time for a command to start and to be heard, on a busy machine too
WAIT_SECONDS = 400.0


def variables(log: Path | None = None, pace: Path | None = None) -> dict[str, str]:
    found = os.environ | {"PYTHONPATH": str(TOY), "COLUMNS": "200"}
    found["UQBENCH_PLUGINS"] = "toy,builtin,slurm"
    found |= {} if pace is None else {"TOY_PACE": str(pace)}
    return found | ({} if log is None else {"TOY_STEPS": str(log)})


class Command:
    """A command whose words go to files: jobs that outlive it would keep pipes open."""

    def __init__(
        self, out: Path, *arguments: str, log: Path | None = None, pace: Path | None = None
    ) -> None:
        command = [sys.executable, "-m", "uqbench", "run", "--suite", "toy", "--out", str(out)]
        self._words = [tempfile.TemporaryFile("w+") for _ in range(2)]  # noqa: SIM115
        stdout, stderr = self._words
        self.process = subprocess.Popen(
            [*command, *arguments],
            env=variables(log, pace),
            text=True,
            stdout=stdout,
            stderr=stderr,
        )

    def end(self, code: int = 0) -> tuple[str, str]:
        """What it has said when it has ended."""
        found = self.process.wait(timeout=WAIT_SECONDS)
        said = []
        for words in self._words:
            words.seek(0)
            said.append(words.read())
            words.close()
        assert found == code, said
        return said[0], said[1]


def run(out: Path, *arguments: str, log: Path | None = None, code: int = 0) -> tuple[str, str]:
    return Command(out, *arguments, log=log).end(code)


def records(out: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted(out.glob("toy/*/*/*/*/run.json")):
        record = json.loads(path.read_text())
        found[f"{path.parts[-4]}/{path.parts[-3]}/{record['identity']['seed']}"] = record
    return found


def results(out: Path) -> dict[str, str]:
    return {name: record["digests"]["results"] for name, record in records(out).items()}


def wait_for(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of the results of the executor ``local``."""
    out = tmp_path_factory.mktemp("local")
    run(out, "--methods", "slow", "--tasks", "long", "--seeds", "2")
    return results(out)


def on(tmp_path: Path, seconds: float = 3600, signal_seconds: int = 60) -> tuple[str, ...]:
    config = f"cluster=local,folder={tmp_path / 'jobs'},time={seconds / 60}"
    return ("--executor", "slurm", "--slurm", f"{config},signal_seconds={signal_seconds}")


def test_a_job_that_meets_its_time_limit_twice_takes_every_step_once(
    unbroken: dict[str, str], tmp_path: Path
) -> None:
    out, log = tmp_path / "results", tmp_path / "steps"
    # a job has 30 s from its start to the signal, and 40 s after it
    one = (*SLOW, "--seeds", "1", "--checkpoint-seconds", "10000")
    limits = on(tmp_path, seconds=70, signal_seconds=40)
    _, said = run(out, *one, *limits, log=log)
    assert "Submitted 1 job to slurm" in said
    assert not (out / "leaderboards").exists()  # it returned
    stdout, said = run(out, *one, *limits, "--wait", log=log)
    assert "Following 1 job submitted before." in said
    resumed = records(out)["long/slow/0"]["resumed"]
    assert len(resumed) >= 2
    assert [int(step) for step in log.read_text().split()] == list(range(STEPS))
    assert results(out).items() <= unbroken.items()
    assert "leaderboard.csv" in stdout
    [logged] = (tmp_path / "jobs").glob("*/*_log.err")
    assert logged.read_text().count("Caught signal SIGUSR2") >= len(resumed)


def test_jobs_outlive_their_driver_and_are_canceled_by_the_same_command(
    unbroken: dict[str, str], tmp_path: Path
) -> None:
    out, log, pace = tmp_path / "results", tmp_path / "steps", tmp_path / "pace"
    pace.write_text("1")  # 600 s of steps: they do not end before they are canceled
    both = (*SLOW, "--seeds", "2", "--workers", "1", *on(tmp_path))
    driver = Command(out, *both, "--wait", log=log, pace=pace)
    wait_for(lambda: log.exists() and len(log.read_text().split()) > 4)
    driver.process.send_signal(signal.SIGKILL)
    driver.end(-signal.SIGKILL)
    before = len(log.read_text().split())
    wait_for(lambda: len(log.read_text().split()) > before + 4)
    run(out, *both, "--cancel")
    wait_for(lambda: all(record["checkpoint"] for record in records(out).values()))
    taken = [record["checkpoint"]["step"] for record in records(out).values()]
    assert all(0 < step < STEPS for step in taken)
    pace.write_text("0")
    Command(out, *both, "--wait", pace=pace).end()
    for record in records(out).values():
        assert [resumed["step"] for resumed in record["resumed"]] == [taken[0]]
    assert results(out) == unbroken


def test_a_dry_run_prints_a_script_that_does_the_work(
    unbroken: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "results"
    asked = (
        "--methods", "slow", "--tasks", "long", "--seeds", "2", "--workers", "3", "--cpus", "2",
        "--memory", "4", "--executor", "slurm",
        "--slurm", f"folder={tmp_path / 'jobs'},partition=long,time=90",
    )  # fmt: skip
    stdout, _ = run(out, *asked, "--dry-run")
    for line in (
        "--partition=long", "--time=90", "--cpus-per-task=2", "--mem=4096M", "--array=0-1%3",
        "--signal=USR2@90",
    ):  # fmt: skip
        assert f"#SBATCH {line}\n" in stdout
    assert not out.exists()
    out.mkdir()
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "srun").write_text('#!/bin/sh\nexec "$@"\n')
    (binaries / "srun").chmod(0o755)
    path = {"PATH": f"{binaries}:{os.environ['PATH']}"}
    for task in ("0", "1"):
        subprocess.run(
            ["bash", "-c", stdout], env=variables() | path | {"SLURM_ARRAY_TASK_ID": task},
            check=True,
        )  # fmt: skip
    assert results(out) == unbroken


def test_a_fraction_of_a_gpu_is_refused(tmp_path: Path) -> None:
    asked = ("--gpus-per-batch", "0.5", "--executor", "slurm", "--dry-run")
    _, said = run(tmp_path, *asked, code=2)
    assert re.search("--gpus-per-batch 0.5: Slurm gives whole GPUs", said)
