"""A cluster of three nodes on one machine: nodes, and the driver, are killed."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from clusters import STEPS, TOY, records, results, steps_taken, variables, wait_for
from commands import begin

if importlib.util.find_spec("ray") is None:
    pytest.skip("needs ray: tox -e ray", allow_module_level=True)

SLOW = ("--methods", "slow", "--tasks", "long", "--set", "slow.step_seconds=0.03")
FAST = ("--methods", "fast", "--tasks", "short", "--seeds", "1")
LIMIT = 150.0


def variables_of_ray(log: Path | None = None) -> dict[str, str]:
    return variables("ray", RAY_AUTH_MODE="disabled", TOY_STEPS=log)


def start(out: Path, *arguments: str, log: Path | None = None) -> "subprocess.Popen[str]":
    return begin(out, *arguments, variables=variables_of_ray(log), start_new_session=True)


def end(process: "subprocess.Popen[str]", code: int = 0) -> str:
    """What a command says until it ends."""
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == code, said
    return said


def saved(out: Path) -> list[int]:
    """The step of each checkpoint that its record names, from which the run would resume."""
    return [r["checkpoint"]["step"] for r in records(out).values() if r["checkpoint"]]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of the results of the executor ``local``."""
    out = tmp_path_factory.mktemp("local")
    end(start(out, "--methods", "slow", "--tasks", "long", "--seeds", "3"))
    return results(out)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "steps"


@pytest.fixture
def pace(tmp_path: Path) -> Path:
    """A file with the seconds that a step takes in the cluster."""
    path = tmp_path / "pace"
    path.write_text("0.03")
    return path


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, log: Path, pace: Path) -> Iterator[Any]:
    """A head without CPUs, and two nodes of one CPU each."""
    for name, value in (variables_of_ray(log) | {"TOY_PACE": str(pace)}).items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 1 << 27},
    )
    for _ in range(2):
        made.add_node(num_cpus=1, object_store_memory=1 << 27)
    yield made
    made.shutdown()


def on(cluster: Any) -> tuple[str, ...]:
    return ("--executor", "ray", "--ray", f"address={cluster.address}")


def parents() -> dict[int, int]:
    """The parent of each process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            found[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    return found


def tasks() -> list[str]:
    """Command lines of the cluster's processes that execute orders, or are idle after it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            found.append(path.read_bytes().replace(b"\0", b" ").decode())
    return [line for line in found if line.startswith("ray::Task")]


def ancestors(pid: int, parent: dict[int, int]) -> list[int]:
    above = [pid]
    while above[-1] in parent:
        above.append(parent[above[-1]])
    return above


def kill_the_node_that_works(cluster: Any, out: Path) -> None:
    """SIGKILL the raylet above the process that a record names, and all that is below it."""
    record, *_ = records(out).values()
    parent = parents()
    above = ancestors(record["process"]["pid"], parent)
    raylets = [node.all_processes["raylet"][0].process.pid for node in cluster.worker_nodes]
    [raylet] = [pid for pid in raylets if pid in above]
    os.kill(raylet, signal.SIGKILL)
    for pid in parent:
        if raylet in ancestors(pid, parent):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_batch_whose_node_is_killed_resumes_on_another_and_so_does_the_driver(
    cluster, unbroken, tmp_path, log, pace
):
    out = tmp_path / "results"
    pace.write_text("0.3")  # 180 s of steps: they do not end before their node is killed
    one = (*SLOW, "--seeds", "1", "--checkpoint-seconds", "1", *on(cluster))
    driver = start(out, *one, log=log)
    wait_for(lambda: saved(out), driver)
    first = saved(out)[0]
    kill_the_node_that_works(cluster, out)
    wait_for(lambda: records(out)["long/slow/0"]["resumed"], driver)
    driver.kill()
    driver.communicate()
    before = len(steps_taken(log))
    wait_for(lambda: len(steps_taken(log)) > before + 20)  # without a driver
    pace.write_text("0.03")
    said = end(start(out, *one, log=log))
    assert "Following 1 job submitted before." in said
    assert "resumed from step" in said
    assert results(out).items() <= unbroken.items()
    taken = steps_taken(log)
    [resumed] = records(out)["long/slow/0"]["resumed"]
    assert first <= resumed["step"] < STEPS
    again = taken[resumed["step"] :]
    assert taken[: resumed["step"]] == list(range(resumed["step"]))  # before the last checkpoint,
    assert again[-(STEPS - resumed["step"]) :] == list(range(resumed["step"], STEPS))  # once
    assert min(again) == resumed["step"]
    assert not (out / ".orders").exists()
    wait_for(lambda: not tasks())  # nothing is left in the cluster


def test_a_cluster_does_what_local_does_and_ctrl_c_leaves_it_up(cluster, unbroken, tmp_path, pace):
    out = tmp_path / "results"
    all_ = (*SLOW, "--seeds", "3", *on(cluster))
    pace.write_text("1")  # 600 s of steps: they do not end before the driver is interrupted
    driver = start(out, *all_)
    wait_for(lambda: records(out), driver)
    driver.send_signal(signal.SIGINT)
    driver.communicate(timeout=LIMIT)
    assert driver.returncode == 130
    pace.write_text("0.03")
    assert "Following" in end(start(out, *all_))
    assert results(out) == unbroken


def test_a_node_with_another_version_of_a_plugin_refuses_its_runs(cluster, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(TOY, other)
    (other / "toy_uqbench" / "newer.py").write_text("")
    out = tmp_path / "results"
    argv = [sys.executable, "-m", "uqbench", "run", "--suite", "toy", "--out", str(out)]
    argv += [*FAST, *on(cluster)]
    env = variables_of_ray() | {"PYTHONPATH": str(other)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 1
    assert "refused: this machine has another content of toy_uqbench" in done.stderr
    assert all(record["status"] == "failed" for record in records(out).values())


def test_what_no_node_has_is_refused_at_once(cluster, tmp_path):
    out = tmp_path / "results"
    said = end(start(out, *FAST, "--ray", "cpus=8", *on(cluster)), code=2)
    assert "no node of the cluster has 8 CPUs, 0 GPUs and 0 GB of memory" in said
    assert "none has more than 1 CPUs, 0 GPUs" in said
    custom = f"address={cluster.address},options={{resources={{a100=1}},max_restarts=3}}"
    said = end(start(out, *FAST, "--executor", "ray", "--ray", custom), code=2)
    assert "no node of the cluster has 1 CPUs, 0 GPUs and 0 GB of memory, 1 a100; none" in said
    said = end(start(out, *FAST, *on(cluster), "--ray", "memory=100000"), code=2)
    assert "no node of the cluster has 1 CPUs, 0 GPUs and 100000 GB of memory" in said
    assert not records(out)
    cluster.add_node(num_cpus=1, resources={"a100": 1}, object_store_memory=1 << 27)
    end(start(out, *FAST, "--executor", "ray", "--ray", custom))
    end(start(tmp_path / "other", *FAST, *on(cluster), "--ray", "memory=0.5"))
    assert records(tmp_path / "other")


def test_canceled_tasks_leave_a_checkpoint_and_resume(cluster, unbroken, tmp_path, pace, log):
    out = tmp_path / "results"
    one = (*SLOW, "--seeds", "1", "--checkpoint-seconds", "600", *on(cluster))
    pace.write_text("1")  # 600 s of steps
    driver = start(out, *one, log=log)
    wait_for(lambda: len(steps_taken(log)) > 2, driver)
    driver.send_signal(signal.SIGINT)
    driver.communicate(timeout=LIMIT)
    assert tasks()
    assert "Canceled 1 job" in end(start(out, *one, "--cancel"))
    wait_for(lambda: saved(out))  # though none was due
    wait_for(lambda: not tasks())
    pace.write_text("0.001")
    assert "resumed from step" in end(start(out, *one, log=log))
    assert results(out).items() <= unbroken.items()


def test_a_task_that_waits_says_so(cluster, tmp_path, pace):
    out = tmp_path / "results"
    pace.write_text("1")  # 600 s of steps

    def status() -> str:
        command = [sys.executable, "-m", "uqbench", "status", "--out", str(out)]
        return subprocess.run(
            command, env=variables_of_ray(), capture_output=True, text=True, check=True
        ).stdout

    three = (*SLOW, "--seeds", "3", *on(cluster))
    driver = start(out, *three)
    waiting = "1 job waiting: waits for a node of the cluster that has room\n"
    wait_for(lambda: {waiting, "2 jobs running\n"} <= set(status().splitlines(True)), driver)
    wait_for(lambda: len(records(out)) == 2, driver)
    kill_the_node_that_works(cluster, out)
    wait_for(lambda: f"2 jobs {waiting[6:]}" in status(), driver)
    driver.send_signal(signal.SIGINT)
    said = end(driver, 130)
    assert "the jobs go on; the same command follows them, --cancel ends them" in said
    assert waiting.partition(": ")[2] in said
    end(start(out, *three, "--cancel"))
    assert not status().count("job")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a folder, which root alone may")
def test_a_node_that_does_not_share_the_results_is_named(cluster, tmp_path):
    out = tmp_path / "results"
    out.mkdir()
    start_ray = f"exec ray start --block --num-cpus=4 --address={cluster.address}"
    script = f"mount -t tmpfs none {out} && {start_ray}"
    blind = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], start_new_session=True)
    try:
        import ray

        ray.init(address=cluster.address, log_to_driver=False)
        wait_for(lambda: ray.cluster_resources().get("CPU") == 6)
        ray.shutdown()
        said = end(start(out, *FAST, "--ray", "cpus=4", *on(cluster)), code=2)
        assert f"what is written to {str(out)!r} here is not there on" in said
        assert not records(out)
    finally:
        os.killpg(blind.pid, signal.SIGKILL)
        blind.wait()
