"""Methods that no package provides: of a file."""

import importlib
import json
import linecache
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from commands import python, toy_plugin
from local_agent import MINE

import uqbench
from uqbench.api.options import Options
from uqbench.errors import UqbenchError
from uqbench.registry import Host, local
from uqbench.suites import Selection

TOY = Path(__file__).parents[1] / "toy"
SCRIPT = """
import json, sys
import uqbench

arguments = dict(methods=["mine.py:Mine", "fast"], tasks="short", seeds=1, out="results")
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


def script(folder: Path, action: int, execute: bool) -> list[object]:
    (folder / "mine.py").write_text(MINE.replace("= 0", f"= {action}"))
    path = folder / "script.py"  # without a guard: workers must not execute it
    path.write_text(SCRIPT.format(execute=execute))
    variables = {"PYTHONPATH": str(TOY), "UQBENCH_PLUGINS": "toy,builtin"}
    found: list[object] = json.loads(python(path, folder=folder, **variables).stdout)
    return found


def test_a_class_of_a_file_is_run_by_workers_and_marked_local(tmp_path):
    board, folders = script(tmp_path, action=1, execute=True)
    assert board == [["fast", "no", 1], ["mine", "yes", 1]]
    record = json.loads((tmp_path / "results" / folders[1] / "run.json").read_text())
    version = record["identity"]["method"]["version"]
    assert version.startswith("1+local.")
    digest = record["provenance"]["content"]["local-mine"]
    assert version == f"1+local.{digest[:8]}"
    assert not list((tmp_path / "results").rglob("*pickle*"))
    # another file makes another run, of this method alone
    edited = script(tmp_path, action=0, execute=False)
    assert edited[0] != folders[1]
    assert folders[0] in edited


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    toy_plugin(monkeypatch)


def add_files(folder: Path, plugin: str = PLUGIN) -> None:
    (folder / "filed.py").write_text(plugin)
    (folder / "filed.toml").write_text('[[extend.toy.methods]]\nname = "filed"\nagent = "filed"\n')
    local.add_file(folder / "filed.py")
    local.add_file(folder / "filed.toml")


def test_a_file_joins_a_suite_under_its_digest(toy, tmp_path):
    add_files(tmp_path)
    host = Host.load()
    assert not host.failures
    plan = Selection("toy", methods=("filed",), seeds=(0,), tasks=("short",)).plan(host, "cpu")
    version = plan.runs[0].identity["method"]["version"]
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


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import sys; sys.exit(0)", "line 1: SystemExit: 0"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "line 2: Odd: x"),
        ("class Odd(Exception):\n    def __str__(self): 1 / 0\nraise Odd",
         "line 3: Odd (its message cannot"),
    ],
)  # fmt: skip
def test_a_file_that_ends_the_process_or_raises_anything_is_named(code, why, toy, tmp_path):
    (tmp_path / "ends.py").write_text(code)
    with pytest.raises(UqbenchError, match=rf"ends\.py cannot be executed: {re.escape(why)}"):
        local.add_class(tmp_path / "ends.py")
    local.add_file(tmp_path / "ends.py")
    [plugin] = Host.load().failures
    assert str(plugin.failure).startswith(why)


def test_a_file_joins_the_suite_for_one_call_and_stays_a_plugin(toy, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    methods = uqbench.plan("toy", tasks="short", out=tmp_path).methods
    one = uqbench.plan("toy", methods=[f"{tmp_path / 'mine.py'}:Mine"], out=tmp_path).methods
    assert list(one["method"]) == ["mine"]
    again = uqbench.plan("toy", tasks="short", out=tmp_path).methods
    assert list(again["method"]) == list(methods["method"])
    assert "local-mine:mine" in Host.load().agents


def test_a_class_of_a_module_is_that_of_its_file(toy, tmp_path, monkeypatch):
    (tmp_path / "with_class.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    given = importlib.import_module("with_class").Mine
    (named,) = local_methods(f"{tmp_path / 'with_class.py'}:Mine")
    (of_class,) = local_methods(given)
    assert of_class == named
    assert "Mine" in str(of_class)


CELLS = (
    """
import math
from dataclasses import dataclass
import torch as tt
from uqbench.agent import Agent
TABLE = {"left": 0, "right": 1}
def chosen(n):
    return math.floor(n + 0.5) + FIRST
FIRST = TABLE["left"]

@dataclass(frozen=True)
class Settings:
    goes: float = 1.0
""",
    """
class Mine(Agent):
    def __init__(self, info, seeds, config: Settings, device):
        self.n, self.config = len(seeds), config
    @tt.no_grad()
    def act(self, obs, valid=None):
        return tt.full(obs.shape[:2], chosen(self.config.goes))
    policy = act
    def observe(self, step): ...
""",
)


@pytest.fixture
def notebook(monkeypatch):
    """A namespace whose cells are executed as IPython does: their text is in ``linecache``."""
    module = ModuleType("__notebook__")
    monkeypatch.setitem(sys.modules, "__notebook__", module)

    def run(*cells: str) -> ModuleType:
        for number, cell in enumerate(cells):
            name = f"<cell {number} {hash(cell)}>"
            linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
            exec(compile(cell, name, "exec"), vars(module))
        return module

    return run


def test_a_class_of_a_cell_is_written_with_what_it_names(toy, notebook, tmp_path):
    mine = notebook(*CELLS).Mine
    (made,) = local_methods(mine, tmp_path)
    assert Path(made.path).parent == tmp_path / "cells"
    there = vars(local._module(made, Path(made.path).read_bytes()))
    obs = torch.zeros(2, 3, 1)
    agent = there["Mine"](None, [1, 2], there["Settings"](0.0), None)
    assert torch.equal(agent.act(obs), torch.zeros(2, 3, dtype=torch.int64))
    (again,) = local_methods(mine, tmp_path)
    assert again == made, "the same text is the same method"
    (edited,) = local_methods(notebook(CELLS[1].replace("len(seeds)", "0")).Mine, tmp_path)
    assert edited.digest != made.digest


def test_what_a_cell_s_class_names_and_no_text_can_say_is_refused(toy, notebook, tmp_path):
    cell = "import torch\nWEIGHTS = torch.ones(2)\nclass Thing:\n    def act(self): return WEIGHTS"
    said = r"names 'WEIGHTS' of the notebook, a Tensor: .*mine\.py"
    with pytest.raises(UqbenchError, match=said):
        local_methods(notebook(cell).Thing, tmp_path)


def test_a_class_of_no_file_and_no_cell_is_refused_with_what_to_write(toy):
    cell = type("Nowhere", (), {"__module__": "builtins"})
    said = r"the source of Nowhere was not found: .*'mine\.py:CLASS'"
    with pytest.raises(UqbenchError, match=said):
        local_methods(cell)


def local_methods(method: str | type, out: Path | None = None) -> list[local.LocalPlugin]:
    """What one method adds."""
    _, found = Options("toy", methods=[method], out=out).selection, local.current()
    os.environ.pop(local.VARIABLE)
    return found
