"""Commands: what they print, ``uqbench doctor``, ``compare`` and ``score``."""

import json
import subprocess
from pathlib import Path

import click
import numba
import numpy as np
import pytest
from click.testing import CliRunner
from commands import python, uqbench

from uqbench.api.options import Options
from uqbench.cli import group, list_
from uqbench.cli.doctor import command
from uqbench.cli.options import _gathered
from uqbench.errors import UqbenchError
from uqbench.registry import local

HEAVY = {"torch", "pandas", "pyarrow", "gymnasium", "pydantic", "rich", "rliable", "numpy"}
TRAINS = {"torch", "scipy.stats", "matplotlib", "numba", "sklearn", "rliable"}
TOY = {"PYTHONPATH": str(Path(__file__).parents[1] / "toy"), "UQBENCH_PLUGINS": "toy"}
COMMANDS = group.list_commands(click.Context(group))
BOARDS = str(Path(__file__).parents[2] / "leaderboards")


def called(folder: Path, *arguments: str, **variables: str) -> tuple[str, set[str]]:
    """What a command prints, and the modules that it has imported by then."""
    script = "import sys, json, uqbench.cli\ntry: uqbench.cli.main()\n"
    script += "finally: print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    variables = {local.VARIABLE: "[]", **variables}
    done = python("-c", script, *arguments, folder=folder, **variables)
    return done.stdout, set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy_and_gives_an_example(arguments, tmp_path):
    said, imported = called(tmp_path, *arguments)
    assert "Example" in said
    assert not HEAVY & imported


def test_listing_suites_imports_no_plugin_that_needs_torch(tmp_path):
    said, imported = called(tmp_path, "list", "suites")
    assert "minatar" in said
    assert not {"torch", "pandas", "gymnasium"} & imported


TRAIN_NOTHING = [
    "list", "list agents --json", "list estimators", "list scores", "cite minatar", "cite dqn",
    "status", f"leaderboard --suite widenarrow --to {BOARDS} --check",
    "run --suite minatar --dry-run", "run --suite deepsea --dry-run"]  # fmt: skip


@pytest.mark.parametrize("arguments", TRAIN_NOTHING)
def test_who_trains_nothing_imports_nothing_that_trains(arguments, tmp_path):
    assert not TRAINS & called(tmp_path, *arguments.split())[1]


def test_a_plan_and_finished_runs_are_shown_without_torch(tmp_path):
    command = "run", "--suite", "toy", "--seeds", "1"
    said, imported = called(tmp_path, *command, "--dry-run", **TOY)
    assert "in all, on one core" in said
    assert "torch" not in imported
    called(tmp_path, *command, **TOY)
    assert not TRAINS & called(tmp_path, *command, **TOY)[1]


PARTS = [
    (["partition=gpu,time=240"], {"partition": "gpu", "time": 240}),
    (["options=--exclude=n7,n8 --hold,qos=low"],
     {"options": "--exclude=n7,n8 --hold", "qos": "low"}),
    (["options={resources={a=1},b=2}"], {"options": {"resources": {"a": 1}, "b": 2}}),
    (["a=1,b=x,y", "b=2", "c=3"], {"a": 1, "b": 2, "c": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "config"), PARTS)
def test_an_executors_config_may_be_given_in_parts_and_its_values_may_have_commas(texts, config):
    taken = _gathered(("executor_config",), {"executor_config": tuple(texts)})
    assert taken.executor_config == config
    with pytest.raises(UqbenchError, match="expected KEY=VALUE"):
        _gathered(("executor_config",), {"executor_config": ("gpu",)})


def test_what_a_batch_takes_is_no_part_of_the_executors_own_config():
    config = {"cpus": 2, "memory": 3.5, "gpus": 0.5, "time": 240}
    where = Options("toy", executor="slurm", executor_config=config).where
    assert where.resources.model_dump() == {"cpus": 2.0, "memory_gb": 3.5, "gpus": 0.5}
    assert where.config == {"time": 240}


def test_list_without_a_kind_counts_and_with_a_suite_has_that_one_alone():
    runner = CliRunner()
    counts = runner.invoke(group, ["list"]).stdout.splitlines()
    number, command = counts[0].split(maxsplit=1)
    assert command == "uqbench list suites"
    listed = json.loads(runner.invoke(group, ["list", "suites", "--json"]).stdout)
    assert int(number) == len(listed) > len(counts) > 10
    one = json.loads(runner.invoke(group, ["list", "suites", "deepsea", "--json"]).stdout)
    assert [entry["name"] for entry in one] == ["deepsea"]
    done = runner.invoke(list_.command, ["suits"])
    assert done.exit_code == 2
    assert "there is no 'suits'. Did you mean 'suites'" in done.output


def told(tmp_path) -> tuple[int, str]:
    done = CliRunner().invoke(command, ["--out", str(tmp_path / "results")], standalone_mode=False)
    return done.return_value, done.output


def test_numba_compiles_here(host, tmp_path):
    assert f"ok     Numba {numba.__version__} compiles" in told(tmp_path)[1]


def test_a_numba_that_cannot_compile_is_wrong(host, tmp_path, monkeypatch):
    """As with NumPy 2.5, which has no ``row_stack``, beside a Numba that asks for it."""

    def njit(_: object) -> object:
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    monkeypatch.setattr(numba, "njit", njit)
    code, said = told(tmp_path)
    assert code == 1
    assert f"WRONG  Numba {numba.__version__} cannot compile: module 'numpy' has no" in said


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from uqbench.cli import main
sys.exit(main())
"""


def without_torch(*arguments: str | Path, code: int = 0) -> "subprocess.CompletedProcess[str]":
    """A command in a process that has no torch, and of plugins only those of every installation."""
    return python("-c", WITHOUT, *arguments, code=code, UQBENCH_PLUGINS="builtin,claims,scores")


def test_an_extra_that_is_not_installed_is_no_fault_and_named_by_what_needs_it(tmp_path):
    done = without_torch("doctor", "--out", tmp_path / "results")
    needs = "it needs torch, which is not installed"
    pip = "python -m pip install 'uqbench[rl]'"
    assert f"ok     agent uniform-random: {needs}: {pip}" in done.stdout
    assert "WRONG" not in done.stdout
    path = tmp_path / "mine.py"
    path.write_text("from uqbench.agent import Agent\n", "utf-8")
    said = without_torch("try", path, code=2).stderr
    assert f"mine.py cannot be executed: line 1: {needs}" in said
    assert "uqbench[rl]" in said
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    np.savez(tmp_path / "p.npz", probs=probs, targets=probs.argmax(1))
    assert "accuracy" in without_torch("score", tmp_path / "p.npz").stdout  # everywhere


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "scores.csv"
    rows = [f"{m},{t},{s},{s + 10 * (m == 'b')}" for m in "ab" for t in "xy" for s in range(5)]
    path.write_text("\n".join(["method,task,seed,auc", *rows]))
    return path


def test_files_become_a_ranking_json_a_sentence_and_a_board(table, tmp_path):
    assert "--column score=NAME" in uqbench("compare", table, code=2).stderr
    given = ("compare", table, "--column", "score=auc")
    out = uqbench(*given, "--write", tmp_path, "--suite-name", "mine").stdout
    assert "b is significantly better than a on mine · imported" in out
    board = tmp_path / "mine" / "imported"
    same = uqbench("compare", board, board)
    assert (same.stdout, same.stderr) == ("same, to the last digit\n", "")
    out = uqbench("compare", board, "--pair", "a,b").stdout
    assert out.startswith("a is significantly worse than b")
    found = json.loads(uqbench(*given, "--json").stdout)
    assert [row["method"] for row in found["ranks"]] == ["b", "a"]
    assert {row["low"] for row in found["intervals"] if row["statistic"] == "median"} == {None}
    uqbench("compare", board, table, code=2)


def test_boards_that_differ_end_with_one(table, tmp_path):
    given = ("--column", "score=auc", "--suite-name", "mine", "--write")
    uqbench("compare", table, *given, tmp_path / "one")
    table.write_text(table.read_text().replace("a,x,4,4", "a,x,4,4.000000001"))
    uqbench("compare", table, *given, tmp_path / "two")
    folders = [tmp_path / n / "mine" / "imported" for n in ("one", "two")]
    out = uqbench("compare", *folders, code=1).stdout
    assert "1 of 20 shared runs differ\nx/a/4/score: A 4.0, B 4.000000001" in out


def test_predictions_are_scored(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, interval=np.tile([0.0, 1.0], (40, 1)), targets=np.linspace(0, 1.2, 40))
    lines = uqbench("score", path).stdout.splitlines()
    head = ["value", "95", "%", "from", "to", "calibrated", "climatology", "better"]
    assert lines[0].split() == head
    assert "absent: rmse: needs a mean" in lines
    found = json.loads(uqbench("score", path, "--json").stdout)
    assert found["absent"]["rmse"] == "needs a mean"
    rows = {row["score"]: row for row in found["scores"]}
    assert rows["width_90"]["value"] == 1
    assert rows["width_90"]["low"] is None
