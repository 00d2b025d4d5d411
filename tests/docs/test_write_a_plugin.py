"""The package of the page about plugins works as it is written there: built, checked and run."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "write-a-plugin.md").read_text("utf-8")
FENCED = re.compile(r"^```\w+\n# (\S+\.(?:toml|py|ini))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TUTORIALS = {"agent": "agent", "environment": "corridor"}
"""Module by the tutorial whose first block it is."""


def first_block(tutorial: str) -> str:
    text = (DOCS / "tutorials" / f"{tutorial}.md").read_text("utf-8")
    return text.partition("```python\n")[2].partition("```")[0]


@pytest.fixture(scope="module")
def uqbench(tmp_path_factory: pytest.TempPathFactory):
    """Calls a command where the package of the page is installed."""
    folder = tmp_path_factory.mktemp("page")
    files = {name: text for name, text in FENCED.findall(PAGE) if name != "tensorboard_log.py"}
    source = "src/my_method"
    files |= {f"{source}/{module}.py": first_block(name) for name, module in TUTORIALS.items()}
    files[f"{source}/__init__.py"] = ""
    listed = re.findall(r"^  (\S+\.\w+)", PAGE.partition("```\nmy-method/\n")[2], re.MULTILINE)
    assert set(listed) == set(files)
    for name, text in files.items():
        path = folder / "my-method" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    install = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    library = folder / "library"
    command = [sys.executable, "-m", *install, str(library), str(folder / "my-method")]
    subprocess.run(command, check=True, cwd=folder)
    plugins = "my-method,my-method-elsewhere,builtin,dqn,uadqn"
    variables = os.environ | {"PYTHONPATH": str(library), "UQBENCH_PLUGINS": plugins}

    def call(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "uqbench", *arguments],
            cwd=folder, env=variables, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return folder, call


def test_the_package_of_the_page_is_listed_and_its_suite_has_a_board(uqbench):
    folder, call = uqbench
    checked = call("plugin", "check", "my-method", "--only", "package")
    assert "package suites my-method: 4 passed" in checked
    call("run", "--suite", "my-method", "--out", "results")
    with (folder / "results/leaderboards/my-method/smoke/leaderboard.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"bayesian-td", "uniform-random"}
    assert all(row["runs_scored"] == "2" for row in rows.values())
    planned = call("run", "--suite", "windy-cliff", "--methods", "bayesian-td-greedy", "--dry-run")
    assert "bayesian-td-greedy" in planned


@pytest.mark.long
def test_the_package_of_the_page_passes_its_checks(uqbench):
    _, call = uqbench
    assert "agent bayesian-td: " in call("plugin", "check", "my-method")
