import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from uqbench.api.options import Options
from uqbench.cli import group, list_
from uqbench.cli.options import _gathered
from uqbench.errors import UqbenchError
from uqbench.registry import local

HEAVY = ("torch", "pandas", "pyarrow", "gymnasium", "pydantic", "rich", "rliable", "numpy")

COMMANDS = group.list_commands(click.Context(group))


NAMES = group.list_commands(click.Context(group))


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in NAMES)])
def test_help_imports_nothing_heavy_and_gives_an_example(arguments):
    script = (
        "import sys, json, uqbench.cli\n"
        f"sys.argv = ['uqbench', *{arguments!r}]\n"
        "try: uqbench.cli.main()\n"
        "finally: print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "Example" in done.stdout
    assert not set(HEAVY) & set(json.loads(done.stderr.splitlines()[-1]))


def test_listing_suites_imports_no_plugin_that_needs_torch():
    script = (
        "import sys, json, uqbench.cli\n"
        "sys.argv = ['uqbench', 'list', 'suites']\n"
        "try: uqbench.cli.main()\n"
        "finally: print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {local.VARIABLE: "[]"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "minatar" in done.stdout
    assert not {"torch", "pandas", "gymnasium"} & set(json.loads(done.stderr.splitlines()[-1]))


LIGHT = ("torch", "scipy.stats", "matplotlib", "numba", "sklearn", "rliable")
BOARDS = str(Path(__file__).parents[2] / "leaderboards")


@pytest.mark.parametrize(
    "arguments",
    [
        "list", "list agents --json", "list estimators", "list scores", "cite minatar", "cite dqn",
        "status", f"leaderboard --suite widenarrow --to {BOARDS} --check",
        "run --suite minatar --dry-run", "run --suite deepsea --dry-run",
    ],
)  # fmt: skip
def test_who_trains_nothing_imports_nothing_that_trains(arguments, tmp_path):
    script = (
        "import sys, uqbench.cli\n"
        f"sys.argv = ['uqbench', *{arguments.split()!r}]\n"
        "try: uqbench.cli.main()\n"
        f"finally: print([name for name in {LIGHT!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {local.VARIABLE: "[]"}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == "[]", done.stderr
    assert done.returncode == 0, done.stdout + done.stderr


def test_finished_runs_are_shown_without_torch(tmp_path):
    toy = str(Path(__file__).parents[1] / "toy")
    script = (
        "import sys, uqbench.cli\n"
        "sys.argv = ['uqbench', 'run', '--suite', 'toy', '--seeds', '1']\n"
        "try: uqbench.cli.main()\n"
        f"finally: print([name for name in {LIGHT!r} if name in sys.modules], file=sys.stderr)"
    )
    env = os.environ | {"PYTHONPATH": toy, "UQBENCH_PLUGINS": "toy", local.VARIABLE: "[]"}
    for expected in (None, "[]"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=env, cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        said = done.stderr.splitlines()[-1]
        assert expected in (None, said), done.stderr


def test_an_unknown_command_gets_the_nearest_and_exit_code_2():
    done = subprocess.run(
        [sys.executable, "-m", "uqbench", "rnu"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Did you mean 'run'?" in done.stderr


def test_an_unknown_kind_of_list_gets_the_nearest_and_exit_code_2():
    done = CliRunner().invoke(list_.command, ["suits"])
    assert done.exit_code == 2
    assert "there is no 'suits'. Did you mean 'suites'" in done.output


def test_planning_imports_no_torch_where_the_suite_names_what_needs_none(tmp_path):
    script = (
        "import sys, uqbench.cli\n"
        "sys.argv = ['uqbench', 'run', '--suite', 'toy', '--dry-run', '--out', sys.argv[1]]\n"
        "try: uqbench.cli.main()\n"
        "finally: print('torch' in sys.modules, file=sys.stderr)"
    )
    toy = str(Path(__file__).parents[1] / "toy")
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "results"],
        env=os.environ | {"PYTHONPATH": toy, "UQBENCH_PLUGINS": "toy", local.VARIABLE: "[]"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "in all, on one core" in done.stdout
    assert done.stderr.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("partition=gpu,time=240", {"partition": "gpu", "time": 240}),
        (
            "options=--exclude=n7,n8 --hold,qos=low",
            {"options": "--exclude=n7,n8 --hold", "qos": "low"},
        ),
        ("options={resources={a=1},b=2}", {"options": {"resources": {"a": 1}, "b": 2}}),
    ],
)
def test_values_of_an_executors_config_may_have_commas(text, config):
    taken = _gathered(("executor_config",), {"executor_config": (text,)})
    assert taken.executor_config == config


def test_a_config_without_a_value_is_refused():
    with pytest.raises(UqbenchError, match="expected KEY=VALUE"):
        _gathered(("executor_config",), {"executor_config": ("gpu",)})


def test_what_a_batch_takes_is_no_part_of_the_executors_own_config():
    config = {"cpus": 2, "memory": 3.5, "gpus": 0.5, "time": 240}
    where = Options("toy", executor="slurm", executor_config=config).where
    assert where.resources.model_dump() == {"cpus": 2.0, "memory_gb": 3.5, "gpus": 0.5}
    assert where.config == {"time": 240}


def test_an_executors_config_may_be_given_in_parts():
    taken = _gathered(("executor_config",), {"executor_config": ("a=1,b=x,y", "b=2", "c=3")})
    assert taken.executor_config == {"a": 1, "b": 2, "c": 3}
