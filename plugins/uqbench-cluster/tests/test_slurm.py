"""A real Slurm of three nodes on this machine: a lost node, preemption, limits, a dead driver."""

import csv
import os
import random
import re
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clusters
import pytest
from clusters import MINE, STEPS, TOY, WAIT_SECONDS, records, results, steps_taken, wait_for

from uqbench.results import RunState, Store

pytest.importorskip("uqbench_cluster.slurm", reason="tox -e slurm installs the plugin")
NEEDED = ("slurmctld", "slurmd", "munged")
if not all(shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in NEEDED):
    pytest.skip("needs Debian's slurm-wlm and munge: tox -e slurm", allow_module_level=True)
if os.getuid() != 0:
    pytest.skip("Slurm's daemons start jobs as root", allow_module_level=True)

SLOW = ("--methods", "slow", "--tasks", "long", "--set", "slow.step_seconds=0.09")
# 600 steps last 54 s: time for a command to start and to be heard, on a busy machine too


def variables_of_slurm(log: Path | None = None, pace: Path | None = None) -> dict[str, str]:
    path = f"{os.environ['PATH']}:/usr/sbin"
    return clusters.variables("slurm", PATH=path, TOY_STEPS=log, TOY_PACE=pace)


def uqbench(*arguments: str) -> str:
    """What a command prints that succeeds."""
    command = [sys.executable, "-m", "uqbench", *arguments]
    told: dict[str, Any] = {"env": variables_of_slurm(), "capture_output": True, "text": True}
    return str(subprocess.run(command, check=True, **told).stdout)


class Command:
    """A command whose words go to files: jobs that outlive it would keep pipes open."""

    def __init__(self, out, *arguments, log=None, pace=None):
        command = [sys.executable, "-m", "uqbench", "run", "--suite", "toy", "--out", str(out)]
        self._words = [tempfile.TemporaryFile("w+") for _ in range(2)]  # noqa: SIM115
        stdout, stderr = self._words
        self.process = subprocess.Popen(
            [*command, *arguments], env=variables_of_slurm(log, pace), text=True, stdout=stdout,
            stderr=stderr)  # fmt: skip

    def said(self) -> str:
        """What it has said so far."""
        return Path(f"/proc/self/fd/{self._words[1].fileno()}").read_text()

    def end(self, code: int = 0) -> tuple[str, str]:
        """What it has said when it has ended."""
        found, said = self.process.wait(timeout=WAIT_SECONDS), []
        for words in self._words:
            words.seek(0)
            said.append(words.read())
            words.close()
        assert found == code, said
        return said[0], said[1]


def run(out: Path, *arguments: str, log: Path | None = None, code: int = 0) -> tuple[str, str]:
    return Command(out, *arguments, log=log).end(code)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of the results of the executor ``local``."""
    out = tmp_path_factory.mktemp("local")
    run(out, "--methods", "slow", "--tasks", "long", "--seeds", "2")
    return results(out)


NODES = ("n1", "n2", "n3")
CONFIG = Path(__file__).with_name("slurm.conf").read_text("utf-8")


class Cluster:
    """A controller and three nodes; ends them with all of their jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder, first = folder, 17000 + os.getpid() % 1000 * 4
        text = CONFIG.format(
            folder=folder, host=socket.gethostname(), port=first, first=first + 1, last=first + 3
        )
        (folder / "slurm.conf").write_text(text)
        (folder / "state").mkdir()
        (folder / "key").write_bytes(os.urandom(1024))
        (folder / "key").chmod(0o400)
        self.variables = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        self.variables["PATH"] += ":/usr/sbin"
        files = {"key-file": "key", "socket": "munge.sock", "pid-file": "munged.pid"}
        files |= {"log-file": "munge.log", "seed-file": "munge.seed"}
        self.call("munged", "--force", *(f"--{k}={folder / v}" for k, v in files.items()))
        self.call("slurmctld")
        for node in NODES:
            self.start(node)
        states = ("sinfo", "-h", "-N", "-o", "%t", "-p", "main")
        wait_for(lambda: self.call(*states).split() == ["idle"] * 3)

    def call(self, *command: str) -> str:
        told: dict[str, Any] = {"capture_output": True, "text": True, "check": True}
        return str(subprocess.run(command, env=self.variables, **told).stdout)

    def start(self, node: str) -> None:
        (self.folder / f"spool-{node}").mkdir(exist_ok=True)
        self.call("slurmd", "-N", node)

    def set(self, **values: object) -> None:
        """Change values of the configuration."""
        path = self.folder / "slurm.conf"
        for name, value in values.items():
            path.write_text(re.sub(rf"\b{name}=\S*", f"{name}={value}", path.read_text()))
        self.call("scontrol", "reconfigure")

    def lose(self, node: str) -> None:
        """Kill a node with all that runs on it, as a power cut does."""
        os.kill(int((self.folder / f"{node}.pid").read_text()), signal.SIGKILL)
        own = {f"SLURMD_NODENAME={node}", f"SLURM_CONF={self.folder / 'slurm.conf'}"}
        doomed = set()
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if own <= set(path.read_text(errors="replace").split("\0")):
                    words = (path.parent / "stat").read_text(errors="replace").rpartition(")")[2]
                    parent = words.split()[1]
                    doomed.add(int(path.parent.name))
                    if "slurmstepd" in Path(f"/proc/{parent}/cmdline").read_text(errors="replace"):
                        doomed.add(int(parent))
            except OSError:  # it has ended
                continue
        for number in doomed:
            os.kill(number, signal.SIGKILL)

    def end(self) -> None:
        subprocess.run(["scancel", "--me"], env=self.variables, check=False)
        for name in (*NODES, "slurmctld", "munged"):
            path = self.folder / f"{name}.pid"
            if path.exists():
                try:
                    os.kill(int(path.read_text()), signal.SIGKILL)
                except ProcessLookupError:
                    continue


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    temporary = tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True)
    with temporary as folder, pytest.MonkeyPatch.context() as patch:
        made = Cluster(Path(folder))
        patch.setenv("SLURM_CONF", made.variables["SLURM_CONF"])
        yield made
        made.end()


def on(tmp_path: Path, *more: str) -> tuple[str, ...]:
    config = ",".join([f"folder={tmp_path / 'jobs'}", "poll_seconds=3", *more])
    return ("--executor", "slurm", "--slurm", config)


def test_a_job_whose_node_is_lost_is_requeued_and_resumes_unfailed(cluster, unbroken, tmp_path):
    out, log = tmp_path / "results", tmp_path / "steps"
    one = (*SLOW, "--seeds", "1", "--checkpoint-seconds", "1", *on(tmp_path, "time=30"))
    driver = Command(out, *one, "--wait", log=log)
    wait_for(lambda: len(steps_taken(log)) > 60)
    node = cluster.call("squeue", "--me", "-h", "-o", "%N", "--states=running").strip()
    cluster.lose(node)
    _, said = driver.end()
    cluster.start(node)
    assert "FAILED" not in said
    assert len(records(out)["long/slow/0"]["resumed"]) >= 1
    assert results(out).items() <= unbroken.items()


@pytest.mark.parametrize("user_signal", [False, True])
def test_a_job_that_is_preempted_is_requeued_and_resumes(user_signal, cluster, unbroken, tmp_path):
    said = "preempt_send_user_signal" if user_signal else "enable_user_top"
    cluster.set(SlurmctldParameters=said, GraceTime=30 if user_signal else 0)
    out, log = tmp_path / "results", tmp_path / "steps"
    one = (*SLOW, "--seeds", "1", "--checkpoint-seconds", "10000", *on(tmp_path, "time=30"))
    driver = Command(out, *one, "--wait", log=log)
    wait_for(lambda: len(steps_taken(log)) > 60)
    cluster.call("sbatch", "-p", "high", "-N3", "--wrap", "sleep 5")
    _, said = driver.end()
    cluster.set(SlurmctldParameters="enable_user_top", GraceTime=0)
    assert "FAILED" not in said
    assert steps_taken(log) == list(range(STEPS))  # none is repeated
    assert results(out).items() <= unbroken.items()


def test_a_job_that_meets_its_time_limit_takes_every_step_once(cluster, unbroken, tmp_path):
    out, log, pace = tmp_path / "results", tmp_path / "steps", tmp_path / "pace"
    pace.write_text("0.15")  # 90 s of steps: the signal comes after about 50
    one = (*SLOW, "--seeds", "1", "--checkpoint-seconds", "10000")
    limits = on(tmp_path, "time=2", "signal_seconds=40")
    _, said = Command(out, *one, *limits, log=log, pace=pace).end()
    assert "Submitted 1 job to slurm" in said
    assert not (out / "leaderboards").exists()  # it returned
    _, said = Command(out, *one, *limits, "--wait", log=log, pace=pace).end()
    assert "Following 1 job submitted before." in said
    assert records(out)["long/slow/0"]["resumed"]
    assert steps_taken(log) == list(range(STEPS))
    assert results(out).items() <= unbroken.items()


def test_jobs_outlive_their_driver_and_canceled_ones_resume_unfailed(cluster, unbroken, tmp_path):
    out, log, pace = tmp_path / "results", tmp_path / "steps", tmp_path / "pace"
    pace.write_text("1")  # 600 s of steps: they do not end before they are canceled
    both = (*SLOW, "--seeds", "2", "--workers", "1", *on(tmp_path, "time=30"))
    driver = Command(out, *both, "--wait", log=log, pace=pace)
    wait_for(lambda: len(steps_taken(log)) > 4)
    driver.process.send_signal(signal.SIGKILL)
    driver.end(-signal.SIGKILL)
    before = len(steps_taken(log))
    wait_for(lambda: len(steps_taken(log)) > before + 4)
    run(out, *both, "--cancel")
    wait_for(lambda: all(record["checkpoint"] for record in records(out).values()))
    assert all(record["status"] == "running" for record in records(out).values())
    pace.write_text("0")
    Command(out, *both, "--wait", pace=pace).end()
    assert results(out) == unbroken


def test_a_job_that_cannot_start_says_why_and_waits(cluster, tmp_path):
    cluster.call("scontrol", "update", "PartitionName=main", "State=DOWN")
    out = tmp_path / "results"
    one = ("--methods", "slow", "--tasks", "long", "--seeds", "1", *on(tmp_path))
    driver = Command(out, *one, "--wait")
    wait_for(lambda: "long/slow/0: PENDING (PartitionDown)" in driver.said())
    assert "1 job waiting: PENDING (PartitionDown)" in uqbench("status", "--out", str(out))
    cluster.call("scontrol", "update", "PartitionName=main", "State=UP")
    _, said = driver.end()
    assert "FAILED" not in said


def test_a_thousand_jobs_are_looked_at_by_one_call_a_minute(cluster, tmp_path, monkeypatch):
    out, calls = tmp_path / "results", tmp_path / "calls"
    for name in ("squeue", "sacct", "sbatch"):
        counts = tmp_path / "bin" / name
        counts.parent.mkdir(exist_ok=True)
        counts.write_text(f'#!/bin/sh\necho {name} >> {calls}\nexec {shutil.which(name)} "$@"\n')
        counts.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    common = ("--methods", "slow", "--tasks", "long", "--seeds", "1000", "--workers", "1000")
    held = ("--executor", "slurm", "--slurm", f"folder={tmp_path / 'jobs'},options=--hold")
    driver = Command(out, *common, *held, "--wait")
    wait_for(lambda: "JobHeldUser" in driver.said())
    began = time.monotonic()
    while (passed := time.monotonic() - began) < 95:
        called = calls.read_text().split()
        assert called.count("squeue") <= 1 + passed / 30
        assert "sacct" not in called
        time.sleep(1)
    assert called.count("squeue") > 1
    assert called.count("sbatch") == 3  # MaxArraySize is 401
    assert driver.said().count("JobHeldUser") == 1
    driver.process.send_signal(signal.SIGINT)
    _, said = driver.end(130)
    assert "the jobs go on; the same command follows them, --cancel ends them" in said
    assert "1000 jobs waiting: PENDING (JobHeldUser)" in uqbench("status", "--out", str(out))
    _, said = run(out, *common, *held, "--cancel")
    assert "Canceled 1000 jobs" in said
    wait_for(lambda: not cluster.call("squeue", "--me", "-h").strip())


def test_a_signal_no_worker_hears_yet_costs_nothing(cluster, unbroken, tmp_path, monkeypatch):
    """As while a busy node still loads Python."""
    out, slow = tmp_path / "results", tmp_path / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(
        "import os, time, pathlib\n"
        "if 'SLURM_JOB_ID' in os.environ and 'SLURM_RESTART_COUNT' not in os.environ:\n"
        f"    pathlib.Path({str(tmp_path / 'begun')!r}).touch()\n"
        "    time.sleep(60)\n"
    )
    one = (*SLOW, "--seeds", "1", *on(tmp_path, f"setup=export PYTHONPATH={slow}:$PYTHONPATH"))
    driver = Command(out, *one, "--wait")
    wait_for((tmp_path / "begun").exists)
    job = cluster.call("squeue", "--me", "-h", "-o", "%A", "--states=running").strip()
    cluster.call("scancel", "--signal=TERM", f"{job}.0")
    _, said = driver.end()
    assert "FAILED" not in said
    assert results(out).items() <= unbroken.items()


def test_a_file_is_a_plugin_on_the_nodes_too(cluster, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    common = ("--methods", f"{mine}:Mine", "--tasks", "short", "--seeds", "1")
    run(tmp_path / "results", *common, *on(tmp_path), "--wait")
    run(tmp_path / "here", *common)
    assert results(tmp_path / "here").keys() == {"short/mine/0"}
    assert results(tmp_path / "here") == results(tmp_path / "results")


def test_a_node_that_does_not_share_the_folder_of_logs_is_told_of(cluster, tmp_path):
    cluster.lose("n3")
    (tmp_path / "jobs").mkdir()
    start = f"mount -t tmpfs none {tmp_path} && exec slurmd -N n3"
    cluster.call("unshare", "--mount", "sh", "-c", start)
    alone = on(tmp_path, "options=--nodelist=n3")
    common = ("--methods", "fast", "--tasks", "short", "--seeds", "1", *alone)
    _, said = run(tmp_path / "results", *common, "--wait", code=1)
    cluster.lose("n3")
    cluster.start("n3")
    assert "do the nodes share that folder?" in said


def test_what_would_be_submitted_can_be_read(cluster, tmp_path):
    arguments = (
        "--methods", "slow", "--tasks", "long", "--seeds", "2", "--slurm", "memory=3,cpus=2",
        "--executor", "slurm", "--dry-run",
        "--slurm", f"folder={tmp_path},partition=long,time=1-00:00:00,options=--gres=gpu:2",
    )  # fmt: skip
    script, _ = run(tmp_path / "results", *arguments)
    for line in ("partition=long", "time=1-00:00:00", "mem=3072M", "cpus-per-task=2", "array=0-1"):
        assert f"#SBATCH --{line}\n" in script
    assert "#SBATCH --gres=gpu:2\n" in script
    assert not (tmp_path / "results").exists()


REFUSED = [
    ("partition=none", (), "invalid partition"),
    ("poll_seconds=3", ("--slurm", "cpus=2"), "Requested node configuration is not available"),
    ("poll_seconds=3", ("--slurm", "memory=9999"), "node configuration is not available"),
    ("options=--gres=gpu:2,lic:1", (), "Invalid generic resource"),
    ("options=--reservation=none", (), "Requested reservation is invalid"),
    ("options=--exclude=n1,n2,n7", (), "Invalid node name specified"),
]


@pytest.mark.parametrize(("config", "more", "said"), REFUSED)
def test_what_slurm_refuses_is_passed_on(config, more, said, cluster, tmp_path):
    refused = ("--seeds", "1", *on(tmp_path, config), *more)
    assert said in run(tmp_path / "results", *refused, code=2)[1]


@pytest.mark.parametrize("suite", ["toy", "five-state", "windy-cliff"])
def test_drivers_killed_at_any_moment_end_with_local_results(cluster, suite, tmp_path):
    """Ten kills each; half of the time the jobs are canceled by Slurm, too."""
    env = variables_of_slurm()
    del env["UQBENCH_PLUGINS"]  # all that are installed
    common = ["--budget", "smoke", "--seeds", "2"]
    rng, kills = random.Random(suite), 0

    def start(out: str, *more: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "uqbench", "run", "--suite", suite, *common, *more]
        return subprocess.Popen(
            [*command, "--out", tmp_path / out], env=env, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    def digests(out: str) -> dict[str, str]:
        found = dict(Store(tmp_path / out).walk())
        assert {stored.state for stored in found.values()} == {RunState.FINISHED}
        return {place: stored.record.digests["results"] for place, stored in found.items()}

    assert start("local").wait(WAIT_SECONDS) == 0
    slurm = (*on(tmp_path, "time=30"), "--wait")
    while kills < 10:
        driver = start("slurm", *slurm)
        time.sleep(rng.uniform(0.5, 30))
        if driver.poll() is not None:
            shutil.rmtree(tmp_path / "slurm")
            continue
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        if kills % 2:
            cluster.call("scancel", "--me")
        kills += 1
    assert start("slurm", *slurm).wait(WAIT_SECONDS) == 0
    assert digests("slurm") == digests("local")


def test_a_search_for_settings_runs_there_and_chooses_what_it_chooses_locally(cluster, tmp_path):
    """All but its hours: the same table."""
    hill = runpy.run_path(str(TOY.parents[1] / "plugins/uqbench-leaderboard/tests/test_tuning.py"))
    (tmp_path / "agent.py").write_text(hill["AGENT"].replace("VERSION", "1"))
    toy = (TOY / "toy_uqbench" / "toy.toml").read_text().replace('name = "toy"', 'name = "hill"')
    (tmp_path / "hill.toml").write_text(toy.partition("[[claims]]")[0] + hill["TUNING"])
    plugins = [part for name in ("agent.py", "hill.toml") for part in ("--plugin", tmp_path / name)]

    def table(out: str, *more: str) -> list[dict[str, str]]:
        path = tmp_path / f"{out}.csv"
        search = ["tune", "hill", "--methods", "climber", *map(str, plugins), "--to", str(path)]
        uqbench(*search, "--out", str(tmp_path / out), *more)
        rows = list(csv.DictReader(path.read_text().splitlines()))
        return [{name: row[name] for name in row if name != "hours"} for row in rows]

    own = table("local")
    assert [row["setting"] for row in own if row["chosen"]] == ["learning_rate=0.01"] * 2
    assert table("slurm", *on(tmp_path, "time=30"), "--wait") == own
