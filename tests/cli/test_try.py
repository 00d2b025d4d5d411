"""``uqbench try``: a class of a file has a row, and nothing is left behind."""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from commands import toy_plugin
from local_agent import MINE

from uqbench.cli.try_ import command
from uqbench.errors import UqbenchError
from uqbench.registry import Host, local
from uqbench.runner.executors.local import _print_into
from uqbench.suites import Selection

TOY = Path(__file__).parents[1] / "toy"
FITS = """
from uqbench.contract.estimator import Estimator

class Fits(Estimator):
    def __init__(self, problem, seeds, config: MineConfig, device):
        pass
    def fit(self, data, reference_model, steps):
        pass
    def predict(self, inputs):
        pass
"""
LOOP = """
class OwnLoop(LoopAgent):
    def __init__(self, info, config: MineConfig):
        self.action = config.action
    def train(self, env, total_steps, seed):
        env.reset(seed=seed)
        while True:
            *_, terminated, truncated, _ = env.step(self.action)
            if terminated or truncated:
                env.reset()
    def policy(self, obs, valid=None):
        return self.action
"""


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    toy_plugin(monkeypatch)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.mark.long
def test_a_class_of_a_file_has_a_row_marked_local_and_nothing_is_kept(mine, capsys, monkeypatch):
    kept = mine.parent / "temporary"
    kept.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(kept))
    monkeypatch.setenv("PYTHONPATH", str(TOY))
    line = f"{mine} --suite toy --budget smoke --set action=1 --workers 1 --json"
    assert command.main(line.split(), standalone_mode=False) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["method"], row["local"], row["runs_scored"]) == ("mine", "yes", "4")
    assert not list(kept.iterdir())
    assert [path.name for path in mine.parent.iterdir() if path != kept] == ["mine.py"]


def test_a_class_joins_a_suite_with_the_config_of_its_name(mine):
    assert local.add_class(mine, None, ["toy"], action=1) == ("mine", "agent")
    plan = Selection("toy", "smoke", ("mine",)).plan(Host.load(), "cpu")
    method = plan.runs[0].identity["method"]
    assert method["config"] == {"action": 1}
    assert method["version"].startswith("1+local.")


def test_of_two_classes_one_must_be_named_and_a_loop_agent_owns_its_loop(mine):
    mine.write_text("x = 1")
    with pytest.raises(UqbenchError, match="has no classes"):
        local.add_class(mine, None, ["toy"])
    mine.write_text(MINE + LOOP)
    with pytest.raises(UqbenchError, match=r"2 classes .*: Mine, OwnLoop"):
        local.add_class(mine, None, ["toy"])
    with pytest.raises(UqbenchError, match=r"\.py has no class 'OwnLop'.*'OwnLoop'"):
        local.add_class(mine, "OwnLop", ["toy"])
    assert local.add_class(mine, "OwnLoop", ["toy"])[0] == "own-loop"
    assert Host.load().agents["own-loop"].loop


def test_an_estimator_is_one(mine):
    mine.write_text(MINE + FITS)
    assert local.add_class(mine, "Fits", ["toy"]) == ("fits", "estimator")
    assert Host.load().estimators["fits"].load_config().__name__ == "MineConfig"


def test_a_setting_that_the_config_has_not_is_refused_with_the_nearest(mine):
    with pytest.raises(UqbenchError, match=r"unknown key 'acton'. Did you mean 'action'"):
        command.main([str(mine), "--suite", "toy", "--set", "acton=1"], standalone_mode=False)


CHATTY = """
import ctypes, os, sys

class Chatty(Mine):
    def __init__(self, info, seeds, config: MineConfig, device):
        super().__init__(info, seeds, config, device)
        ctypes.PyDLL(None).write(1, b"holds the lock" * 10_000, 140_000)  # more than a pipe holds
        print("on stdout \\x1b]0;owned\\x07")
        print("on stderr \\x9b2J\\rback", file=sys.stderr)
        os.write(2, b"unbuffered \\x1b[2J")
        print("x" * 6_000_000, file=sys.stderr)
"""


def test_what_an_agent_prints_is_no_part_of_the_json_and_bounded(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE + CHATTY)
    monkeypatch.setenv("PYTHONPATH", str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    line = "-m uqbench try mine.py:Chatty --suite toy --json --budget smoke --workers 1"
    command = [sys.executable, *line.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert isinstance(json.loads(done.stdout), list), done.stderr[-500:]
    told = done.stderr.decode()
    for shown in (r"stdout \x1b]0;owned\x07", r"stderr \x9b2J\rback", r"unbuffered \x1b[2J"):
        assert shown in told
    assert {c for c in told if not c.isprintable()} == {"\n"}
    left_out = told.count("uqbench: more output of chatty is left out")  # once a group of runs
    assert 0 < left_out == told.count("x" * 4_000_000)
    assert left_out * (4 << 20) < len(told) < left_out * (5 << 20)


def test_a_worker_whose_parent_is_gone_prints_to_nobody():
    hears, prints = multiprocessing.Pipe(duplex=False)
    hears.close()
    child = os.fork()
    if not child:
        code = 1
        try:
            _print_into(prints)
            print("to nobody", flush=True)
            print("to nobody", file=sys.stderr, flush=True)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
