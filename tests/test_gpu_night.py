"""A night on a GPU, rehearsed on a CPU: what is complete comes back, whatever fails."""

import importlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import toy_plugin

import uqbench
from uqbench.errors import UqbenchWarning

ROOT = Path(__file__).parents[1]
NIGHT = ROOT / "tools" / "gpu_night"
TOY = ROOT / "tests" / "toy"
sys.path.insert(0, str(NIGHT))

archives = importlib.import_module("archives")
wheels = importlib.import_module("wheels")
BLOCKS = 4_096


def files(folder: Path, *names: str, size: int = BLOCKS - 1_024) -> dict[str, dict[str, Path]]:
    """Runs of one file each, which takes four KiB of an archive."""
    for name in names:
        (folder / name).write_bytes(name.encode() * (size // len(name)))
    return {name: {f"results/{name}": folder / name} for name in names}


def inside(out: Path) -> dict[str, set[str]]:
    found = {}
    for path in out.glob("*.tar"):
        with tarfile.open(path) as opened:
            found[path.name] = set(opened.getnames())
    return found


def archive(out: Path, most: int, each: int, together: int = 10**9) -> Any:
    out.mkdir()
    return archives.Archives(out, most, archives.END + each * BLOCKS, together)


def test_archives_fit_and_a_run_stays_where_it_is(tmp_path: Path) -> None:
    made = archive(tmp_path / "out", 2, 2)
    made.pack({"weights": files(tmp_path, "b1", "b2")})
    made.pack({"weights": files(tmp_path, "a1", "b1", "b2")})
    assert inside(tmp_path / "out") == {
        "weights-1.tar": {"results/b1", "results/b2"}, "weights-2.tar": {"results/a1"}}  # fmt: skip
    assert all(p.stat().st_size <= archives.END + 2 * BLOCKS for p in (tmp_path / "out").iterdir())
    made.pack({"weights": files(tmp_path, "a1", "b1", "b2", "c1", "c2")})
    assert made.packed("weights") == {"a1", "b1", "b2", "c1"}
    assert made.full == "no room for 1 of what there is"


def test_scores_take_the_room_of_weights_and_weights_that_of_agents(tmp_path: Path) -> None:
    made = archive(tmp_path / "out", 2, 2)
    made.pack({"weights": files(tmp_path, "w1"), "agents": files(tmp_path, "g1")})
    assert made.packed("agents") == {"g1"}
    made.pack({"scores": files(tmp_path, "s1"), "weights": files(tmp_path, "w1")})
    assert inside(tmp_path / "out") == {
        "scores-1.tar": {"results/s1"}, "weights-1.tar": {"results/w1"}}  # fmt: skip
    made.pack({"scores": files(tmp_path, "s1", "s2", "s3"), "weights": files(tmp_path, "w1")})
    assert (made.packed("scores"), made.packed("weights")) == ({"s1", "s2", "s3"}, set())


def test_on_a_full_disk_an_archive_stays_as_it_was_and_that_is_said(tmp_path, monkeypatch):
    made = archive(tmp_path / "out", 3, 3)
    made.pack({"scores": files(tmp_path, "s1"), "weights": files(tmp_path, "w1")})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(archives.os, "fsync", full)
        made.pack({"scores": files(tmp_path, "s1", "w1")})
    assert made.full == "scores-1.tar is as it was before: No space left on device"
    assert made.packed("scores") == {"s1"}
    assert inside(tmp_path / "out")["scores-1.tar"] == {"results/s1"}
    made.pack({"scores": files(tmp_path, "s1", "w1")})
    assert (made.packed("scores"), made.full) == ({"s1", "w1"}, "")


def test_what_the_wheels_need_and_nobody_brings_is_named(tmp_path: Path) -> None:
    import zipfile

    for name, needs in (("one", ["two>=2", "torch>=2.6", "three"]), ("two", ["four; extra=='x'"])):
        said = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        said += "".join(f"Requires-Dist: {need}\n" for need in needs)
        with zipfile.ZipFile(tmp_path / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}-1.0.dist-info/METADATA", said)
    assert [*wheels.lacking(tmp_path)] == [
        "one needs two>=2; 1.0 is carried", "one needs three, which is neither carried nor there",
    ]  # fmt: skip


# -- the rehearsal: the whole script, with faults ------------------------------------------------

ROW_STACK = """
import numba

def njit(*_, **__):  # as with NumPy 2.5 beside a Numba that asks for row_stack
    raise AttributeError("module 'numpy' has no attribute 'row_stack'")

numba.njit = njit
"""
NO_CUDA = """
import sys
sys.modules["numba.cuda"] = None
"""
STUMBLES = """
[[extend.toy.methods]]
name = "stumbles"
agent = "walker"
config = { forward = 0.7, raise_at = 550 }
"""
METHODS = {"slow", "fast"}
SEEDS, TASKS = 2, 2
RUNS = SEEDS * TASKS


def rehearse(
    tmp_path: Path, *more: str, plant: str = "", methods: str = "slow,fast"
) -> subprocess.Popen[str]:
    """The script on this Python, ``cpu`` for ``cuda``, in a session of its own."""
    (tmp_path / "plant").mkdir()
    (tmp_path / "plant" / "sitecustomize.py").write_text(plant)
    (tmp_path / "more.toml").write_text(STUMBLES)
    path = os.pathsep.join([str(tmp_path / "plant"), str(TOY)])
    environment = {**os.environ, "PYTHONPATH": path, "UQBENCH_PLUGINS": "toy,builtin"}
    command = [sys.executable, str(NIGHT), "--device", "cpu", "--suite", "toy", "--budget", "paper"]
    command += ["--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    command += ["--methods", methods, "--seeds", str(SEEDS), "--pack-seconds", "1", "--last", "20"]
    command += ["--seconds", "1800", "--plugin", str(tmp_path / "more.toml")]
    command += ["--before", "true", "--then", "echo compared", "--install-seconds", "400"]
    command += ["--doctor-seconds", "600", "--one-seconds", "600"]
    with (tmp_path / "stderr").open("w") as told:
        return subprocess.Popen(
            [*command, *more], stdout=subprocess.PIPE, stderr=told, text=True, env=environment,
            start_new_session=True)  # fmt: skip


def ended(night: subprocess.Popen[str], tmp_path: Path) -> tuple[int, str, dict[str, Any]]:
    said, _ = night.communicate()
    return night.returncode, said, json.loads((tmp_path / "out" / "summary.json").read_text())


def children(pid: int) -> Iterator[int]:
    """A process's, and theirs."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            yield from children(int(path.parent.name))
            yield int(path.parent.name)


def board_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, methods: str) -> Mapping[str, int]:
    """Runs of each method on the board that ``--judge`` makes of what came back."""
    here = tmp_path / "here"
    for path in sorted((tmp_path / "out").glob("*.tar")):
        with tarfile.open(path) as opened:
            opened.extractall(here, filter="data")
    toy_plugin(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UqbenchWarning)  # not all runs are there
        uqbench.run(
            "toy", "paper", methods=methods.split(","), seeds=SEEDS, judge=True,
            out=here / "results", device="cpu", workers=1, plugins=[tmp_path / "more.toml"],
            progress=False)  # fmt: skip
    assert [*here.glob("results/leaderboards/toy/*/leaderboard.csv")]
    runs = here.glob("results/toy/*/*/*/*/run.json")
    finished = [run for run in runs if json.loads(run.read_text())["status"] == "finished"]
    return Counter(run.parts[-3] for run in finished)


def back(summary: Mapping[str, Any]) -> dict[str, int]:
    """Runs of each method that come back, in either form."""
    counted = {n: m["scores_back"] + m["weights_back"] for n, m in summary["methods"].items()}
    return {name: count for name, count in counted.items() if count}


@pytest.mark.long
@pytest.mark.parametrize(
    ("plant", "said"),
    [(ROW_STACK, "has no attribute 'row_stack'"), (NO_CUDA, "numba.cuda")],
    ids=["row_stack", "no-numba-cuda"],
)
def test_a_machine_that_cannot_is_found_before_any_run(plant, said, tmp_path):
    code, out, summary = ended(rehearse(tmp_path, plant=plant), tmp_path)
    assert code == 1
    assert out.startswith("FAILED step 2: ")
    assert said in summary["failed"]
    assert not summary["complete"]
    assert not list((tmp_path / "work").glob("results/*"))


@pytest.mark.long
def test_a_method_that_raises_costs_its_own_runs(tmp_path, monkeypatch):
    code, _, summary = ended(rehearse(tmp_path, methods="slow,stumbles"), tmp_path)
    assert (code, summary["failed"]) == (1, "")
    assert not summary["complete"]
    of = summary["methods"]
    assert of["slow"]["scores_back"] == of["slow"]["planned"] == RUNS
    assert of["stumbles"]["finished"] == of["stumbles"]["scores_back"] == 0
    assert of["stumbles"]["reason"].startswith("RuntimeError: the walker stumbled")
    assert board_of(tmp_path, monkeypatch, "slow,stumbles") == {"slow": RUNS}


@pytest.mark.long
def test_with_memory_for_half_the_methods_take_turns_and_all_is_complete(tmp_path, monkeypatch):
    code, _, summary = ended(rehearse(tmp_path, "--memory-gib", "1.6"), tmp_path)
    told = (tmp_path / "stderr").read_text()
    turns = [line.split("] ")[1] for line in told.splitlines()]
    assert [line for line in turns if line.startswith(("slow ", "fast "))] == [
        "slow begins", "slow ended with 0", "fast begins", "fast ended with 0"]  # fmt: skip
    assert (code, summary["complete"]) == (0, True)
    assert back(summary) == dict.fromkeys(METHODS, RUNS)
    assert board_of(tmp_path, monkeypatch, "slow,fast") == dict.fromkeys(METHODS, RUNS)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.4, 0.95])
def test_killed_it_leaves_what_was_complete_and_no_more_is_claimed(share, tmp_path, monkeypatch):
    """Killed as soon as so many runs are packed as are so great a share of all."""
    night, most = rehearse(tmp_path), int(share * 2 * RUNS)
    while night.poll() is None:
        time.sleep(0.02)
        with_summary = (tmp_path / "out" / "summary.json").exists()
        summary = json.loads((tmp_path / "out/summary.json").read_text()) if with_summary else {}
        if summary and sum(back(summary).values()) >= most:
            break
    assert night.poll() is None
    for pid in (night.pid, *children(night.pid)):
        os.kill(pid, signal.SIGKILL)
    _, _, summary = ended(night, tmp_path)
    assert not summary["complete"] or share > 0.9
    assert sum(back(summary).values()) >= most
    made = board_of(tmp_path, monkeypatch, "slow,fast")
    assert all(made[name] >= count for name, count in back(summary).items())
