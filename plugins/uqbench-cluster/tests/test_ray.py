"""A cluster of three nodes on one machine: nodes, and the driver, are killed."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("ray") is None:
    pytest.skip("needs ray: tox -e ray", allow_module_level=True)

TOY = Path(__file__).parents[3] / "tests" / "toy"
SLOW = ("--methods", "slow", "--tasks", "long", "--set", "slow.step_seconds=0.03")
STEPS = 600
WAIT_SECONDS = 150.0
MINE = """
import torch
from uqbench.contract.agent import Agent

class Mine(Agent):
    def __init__(self, info, seeds, config, device):
        pass
    def act(self, obs, valid=None):
        return torch.ones(obs.shape[:2], dtype=torch.int64)
    def observe(self, step):
        pass
    def policy(self, obs, valid=None):
        return self.act(obs)
"""


def variables(log: Path | None = None) -> dict[str, str]:
    found = os.environ | {"PYTHONPATH": str(TOY), "COLUMNS": "200", "RAY_AUTH_MODE": "disabled"}
    found["UQBENCH_PLUGINS"] = "toy,builtin,ray"
    return found | ({} if log is None else {"TOY_STEPS": str(log)})


def start(out: Path, *arguments: str, log: Path | None = None) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "uqbench", "run", "--suite", "toy", "--out", str(out)]
    return subprocess.Popen(
        [*command, *arguments], env=variables(log), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def end(process: "subprocess.Popen[str]", code: int = 0) -> str:
    """What a command says until it ends."""
    _, said = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == code, said
    return said


def records(out: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted(out.glob("toy/*/*/*/*/run.json")):
        record = json.loads(path.read_text())
        found[f"{path.parts[-4]}/{path.parts[-3]}/{record['identity']['seed']}"] = record
    return found


def results(out: Path) -> dict[str, str]:
    return {name: record["digests"]["results"] for name, record in records(out).items()}


def wait_for(condition: Callable[[], Any], process: "subprocess.Popen[str] | None" = None) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)


def steps_of(log: Path) -> list[int]:
    """Steps in the order in which some process took them."""
    return [int(line) for line in log.read_text().splitlines()] if log.exists() else []


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
    for name, value in (variables(log) | {"TOY_PACE": str(pace)}).items():
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
    cluster: Any, unbroken: dict[str, str], tmp_path: Path, log: Path, pace: Path
) -> None:
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
    before = len(steps_of(log))
    wait_for(lambda: len(steps_of(log)) > before + 20)  # without a driver
    pace.write_text("0.03")
    said = end(start(out, *one, log=log))
    assert "Following 1 job submitted before." in said
    assert "resumed from step" in said
    assert results(out).items() <= unbroken.items()
    taken = steps_of(log)
    [resumed] = records(out)["long/slow/0"]["resumed"]
    assert first <= resumed["step"] < STEPS
    again = taken[resumed["step"] :]
    assert taken[: resumed["step"]] == list(range(resumed["step"]))  # before the last checkpoint,
    assert again[-(STEPS - resumed["step"]) :] == list(range(resumed["step"], STEPS))  # once
    assert min(again) == resumed["step"]
    assert not (out / ".orders").exists()
    wait_for(lambda: not tasks())  # nothing is left in the cluster


def test_a_cluster_does_the_same_as_local_and_ctrl_c_leaves_it_working(
    cluster: Any, unbroken: dict[str, str], tmp_path: Path, pace: Path
) -> None:
    out = tmp_path / "results"
    all_ = (*SLOW, "--seeds", "3", *on(cluster))
    pace.write_text("1")  # 600 s of steps: they do not end before the driver is interrupted
    driver = start(out, *all_)
    wait_for(lambda: records(out), driver)
    driver.send_signal(signal.SIGINT)
    driver.communicate(timeout=WAIT_SECONDS)
    assert driver.returncode == 130
    pace.write_text("0.03")
    assert "Following" in end(start(out, *all_))
    assert results(out) == unbroken


def test_a_node_with_another_version_of_a_plugin_refuses_its_runs(
    cluster: Any, tmp_path: Path
) -> None:
    import shutil

    other = tmp_path / "other"
    shutil.copytree(TOY, other)
    (other / "toy_uqbench" / "newer.py").write_text("")
    out = tmp_path / "results"
    command = [sys.executable, "-m", "uqbench", "run", "--suite", "toy", "--out", str(out)]
    command += ["--methods", "fast", "--tasks", "short", "--seeds", "1", *on(cluster)]
    done = subprocess.run(
        command, env=variables() | {"PYTHONPATH": str(other)}, capture_output=True, text=True,
        check=False, timeout=WAIT_SECONDS,
    )  # fmt: skip
    assert done.returncode == 1
    assert "refused: this machine has another content of toy_uqbench" in done.stderr
    assert all(record["status"] == "failed" for record in records(out).values())


def test_a_file_is_a_plugin_on_the_nodes_too(cluster: Any, tmp_path: Path) -> None:
    out, mine = tmp_path / "results", tmp_path / "mine.py"
    mine.write_text(MINE)
    common = ("--methods", f"{mine}:Mine", "--tasks", "short", "--seeds", "1")
    fast = ("--methods", "fast", "--tasks", "short", "--seeds", "1")
    end(start(out, *fast, *on(cluster)))  # without the file
    end(start(out, *common, *on(cluster)))
    here = tmp_path / "here"
    end(start(here, *common))
    assert results(here).keys() == {"short/mine/0"}
    assert results(here).items() <= results(out).items()


def test_what_no_node_has_is_refused_at_once(cluster: Any, tmp_path: Path) -> None:
    out = tmp_path / "results"
    fast = ("--methods", "fast", "--tasks", "short", "--seeds", "1", "--ray", "cpus=8")
    said = end(start(out, *fast, *on(cluster)), code=2)
    assert "no node of the cluster has 8 CPUs, 0 GPUs and 0 GB of memory" in said
    assert "none has more than 1 CPUs, 0 GPUs" in said
    custom = f"address={cluster.address},options={{resources={{a100=1}},max_restarts=3}}"
    said = end(start(out, *fast[:-2], "--executor", "ray", "--ray", custom), code=2)
    assert "no node of the cluster has 1 CPUs, 0 GPUs and 0 GB of memory, 1 a100; none" in said
    assert not records(out)
    cluster.add_node(num_cpus=1, resources={"a100": 1}, object_store_memory=1 << 27)
    end(start(out, *fast[:-2], "--executor", "ray", "--ray", custom))


def test_canceled_tasks_leave_a_checkpoint_and_resume(
    cluster: Any, unbroken: dict[str, str], tmp_path: Path, pace: Path, log: Path
) -> None:
    out = tmp_path / "results"
    one = (*SLOW, "--seeds", "1", "--checkpoint-seconds", "600", *on(cluster))
    pace.write_text("1")  # 600 s of steps
    driver = start(out, *one, log=log)
    wait_for(lambda: len(steps_of(log)) > 2, driver)
    driver.send_signal(signal.SIGINT)
    driver.communicate(timeout=WAIT_SECONDS)
    assert tasks()
    assert "Canceled 1 job" in end(start(out, *one, "--cancel"))
    wait_for(lambda: saved(out))  # though none was due
    wait_for(lambda: not tasks())
    pace.write_text("0.001")
    assert "resumed from step" in end(start(out, *one, log=log))
    assert results(out).items() <= unbroken.items()


def test_a_task_that_waits_says_so(cluster: Any, tmp_path: Path, pace: Path) -> None:
    out = tmp_path / "results"
    pace.write_text("1")  # 600 s of steps

    def status() -> str:
        command = [sys.executable, "-m", "uqbench", "status", "--out", str(out)]
        return subprocess.run(
            command, env=variables(), capture_output=True, text=True, check=True
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


def test_memory_is_asked_for_and_is_refused_where_no_node_has_it(
    cluster: Any, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    fast = ("--methods", "fast", "--tasks", "short", "--seeds", "1", *on(cluster))
    said = end(start(out, *fast, "--ray", "memory=100000"), code=2)
    assert "no node of the cluster has 1 CPUs, 0 GPUs and 100000 GB of memory" in said
    end(start(out, *fast, "--ray", "memory=0.5"))
    assert records(out)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a folder, which root alone may")
def test_a_node_that_does_not_share_the_results_is_named(cluster: Any, tmp_path: Path) -> None:
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
        fast = ("--methods", "fast", "--tasks", "short", "--seeds", "1")
        said = end(start(out, *fast, "--ray", "cpus=4", *on(cluster)), code=2)
        assert f"what is written to {str(out)!r} here is not there on" in said
        assert not records(out)
    finally:
        os.killpg(blind.pid, signal.SIGKILL)
        blind.wait()
