import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import python

from uqbench.api.options import Options
from uqbench.cli import group, list_
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
    "run --suite minatar --dry-run", "run --suite deepsea --dry-run",
]  # fmt: skip


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
