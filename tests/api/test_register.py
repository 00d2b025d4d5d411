"""Methods that no package provides: from a notebook's cell, or a file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from uqbench.api.register import register
from uqbench.errors import UqbenchError
from uqbench.registry import local
from uqbench.registry.plugins import Host
from uqbench.suites.selection import Selection

TOY = Path(__file__).parents[1] / "toy"
SCRIPT = """
import dataclasses, json, sys
import torch, uqbench
from uqbench.agent import Agent

STEP = {step}

@dataclasses.dataclass(frozen=True, kw_only=True)
class MyConfig:
    action: int = 0

def chosen(config):
    return config.action * STEP

class MyAgent(Agent):
    def __init__(self, info, seeds, config, device):
        self.action = chosen(config)
    def act(self, obs, valid=None):
        return torch.full(obs.shape[:2], self.action)
    def observe(self, step):
        pass
    def policy(self, obs, valid=None):
        return torch.full(obs.shape[:2], self.action)

uqbench.register(MyAgent, suite="toy", config=MyConfig, settings={{"action": 1}})
arguments = dict(methods=["my-agent", "fast"], tasks="short", seeds=1, out=sys.argv[1])
if {execute}:
    results = uqbench.run("toy", workers=1, progress=False, **arguments)
    board = results.board()[["method", "local", "runs_scored"]].values.tolist()
    print(json.dumps([board, results.runs["run"].tolist()]))
else:
    print(json.dumps(uqbench.plan("toy", **arguments).runs["run"].tolist()))
"""
PLUGIN = """
import uqbench
from toy_uqbench import WalkerConfig

@uqbench.hookimpl
def uqbench_agents():
    factory = "toy_uqbench.walker:Walker"
    return [uqbench.AgentSpec(name="filed", version="7", factory=factory, config=WalkerConfig)]
"""
SUITE = '[[extend.toy.methods]]\nname = "filed"\nagent = "filed"\n'


def script(out: Path, step: int, execute: bool) -> list[object]:
    path = out / "script.py"  # without a guard: workers must not execute it
    path.write_text(SCRIPT.format(step=step, execute=execute))
    variables = {"PYTHONPATH": str(TOY), "UQBENCH_PLUGINS": "toy,builtin"}
    done = subprocess.run(
        [sys.executable, path, out / "results"], env=os.environ | variables,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[object] = json.loads(done.stdout)
    return found


def test_a_method_of_a_script_is_run_by_workers_and_marked_local(tmp_path):
    board, folders = script(tmp_path, step=1, execute=True)
    assert board == [["fast", "no", 1], ["my-agent", "yes", 1]]
    record = json.loads((tmp_path / "results" / folders[1] / "run.json").read_text())
    version = record["identity"]["method"]["version"]
    assert version.startswith("1+local.")
    digest = record["provenance"]["content"]["local-my-agent"]
    assert version == f"1+local.{digest[:8]}"
    assert not list((tmp_path / "results").rglob("*pickle*"))
    # another value of a name that the class uses makes another run, of this method alone
    edited = script(tmp_path, step=0, execute=False)
    assert edited[0] != folders[1]
    assert folders[0] in edited


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    monkeypatch.setenv(local.VARIABLE, "[]")


def add_files(folder: Path, plugin: str = PLUGIN) -> None:
    (folder / "filed.py").write_text(plugin)
    (folder / "filed.toml").write_text(SUITE)
    local.add_file(folder / "filed.py")
    local.add_file(folder / "filed.toml")


def test_a_file_joins_a_suite_under_its_digest(toy, tmp_path):
    add_files(tmp_path)
    host = Host.load()
    assert not host.failures
    (method,) = (
        Selection("toy", methods=("filed",), seeds=(0,), tasks=("short",)).plan(host, "cpu").cells
    )
    version = method.runs[0].identity["method"]["version"]
    assert version.startswith("7+local.")
    assert local.is_local(version)
    (origin,) = [p for p in host.plugins if p.name == "filed"]
    assert str(origin.local).startswith(version.partition("+local.")[2])
    add_files(tmp_path, PLUGIN + "# edited\n")
    assert host.agents["filed"].version != Host.load().agents["filed"].version


def test_a_file_that_was_edited_meanwhile_is_refused(toy, tmp_path):
    add_files(tmp_path)
    (tmp_path / "filed.py").write_text(PLUGIN + "import os\n")
    (failed,) = Host.load().failures
    assert "was edited since the command began" in str(failed.failure)


def test_a_file_that_is_not_there_is_named(toy, tmp_path):
    with pytest.raises(UqbenchError, match=r"none\.py cannot be read"):
        local.add_file(tmp_path / "none.py")


def test_a_file_of_another_kind_is_refused(toy, tmp_path):
    (tmp_path / "filed.txt").write_text(SUITE)
    with pytest.raises(UqbenchError, match=r"expected a Python file \(\.py\) or a suite file"):
        local.add_file(tmp_path / "filed.txt")


def test_what_cannot_be_registered_says_why(toy):
    class Thing:
        pass

    for arguments, said in (
        ({"factory": Thing}, r"is no uqbench\.agent\.Agent"),
        ({"factory": Thing, "name": "My Thing"}, "expected small letters"),
        ({"factory": Thing, "config": Thing}, "expected a dataclass"),
    ):
        with pytest.raises(UqbenchError, match=said):
            register(**arguments, suite="toy")
