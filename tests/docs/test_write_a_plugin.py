"""The packages of the page about plugins work as written: built, checked, run and submitted."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import python

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "write-a-plugin.md").read_text("utf-8")
FENCED = re.compile(r"^```\w+\n# (\S+\.(?:toml|py|ini))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TUTORIALS = {"agent": "agent", "environment": "corridor"}
"""Module by the tutorial whose first block it is."""


def first_block(tutorial: str) -> str:
    text = (DOCS / "tutorials" / f"{tutorial}.md").read_text("utf-8")
    return text.partition("```python\n")[2].partition("```")[0]


HOOKS = PAGE.partition("## Hooks")[2].partition("```python\n")[2].partition("```")[0]


@pytest.fixture(scope="module", params=["classes", "hooks"])
def uqbench(request, tmp_path_factory: pytest.TempPathFactory):
    """Calls a command where a package of the page is installed from its wheel.

    That of *The layout*; and the same with *Hooks* in the place of the agent's entry point, whose
    ``__init__`` imports torch, as may be.
    """
    folder = tmp_path_factory.mktemp("page")
    files = {name: text for name, text in FENCED.findall(PAGE) if name != "log.py"}
    source = "src/my_method"
    files |= {f"{source}/{module}.py": first_block(name) for name, module in TUTORIALS.items()}
    files[f"{source}/__init__.py"] = ""
    listed = re.findall(r"^  (\S+\.\w+)", PAGE.partition("```\nmy-method/\n")[2], re.MULTILINE)
    assert set(listed) == {*files, "tox.ini"}  # which plugin new writes
    plugins = "my-method,my-method-elsewhere,builtin,dqn,uadqn"
    if request.param == "hooks":
        hook = '[project.entry-points."uqbench.agents"]\nbayesian-td = "my_method.agent:BayesianTD"'
        assert hook in files["pyproject.toml"]
        own = '[project.entry-points.uqbench]\nmy-hooks = "my_hooks"'
        files["pyproject.toml"] = files["pyproject.toml"].replace(hook, own)
        files["pyproject.toml"] += (
            '\n[tool.hatch.build.targets.wheel]\npackages = ["src/my_method", "src/my_hooks.py"]\n'
        )
        files["src/my_hooks.py"] = HOOKS
        files[f"{source}/__init__.py"] = "import my_method.agent\n"
        plugins += ",my-hooks"
    for name, text in files.items():
        path = folder / "my-method" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    pip = [sys.executable, "-m", "pip", "-q"]
    built = ["wheel", "--no-deps", "--no-build-isolation", "-w", "dist", "./my-method"]
    subprocess.run([*pip, *built], check=True, cwd=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    library = folder / "library"
    install = ["install", "--no-deps", "--target", str(library), str(wheel)]
    subprocess.run([*pip, *install], check=True, cwd=folder)
    variables = {"PYTHONPATH": str(library), "UQBENCH_PLUGINS": plugins}

    def call(*arguments: str) -> str:
        return python("-m", "uqbench", *arguments, folder=folder, **variables).stdout

    return folder, call, wheel


def test_the_packages_of_the_page_are_listed_run_and_have_a_board(uqbench):
    folder, call, _ = uqbench
    checked = call("plugin", "check", "my-method", "--only", "package")
    assert "failed" not in checked
    assert "package suites my-method: 3 passed, 1 skipped" in checked
    call("run", "--suite", "my-method", "--out", "results", "--workers", "1")
    with (folder / "results/leaderboards/my-method/smoke/leaderboard.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"bayesian-td", "uniform-random"}
    assert all(row["runs_scored"] == "2" for row in rows.values())
    planned = call("run", "--suite", "windy-cliff", "--methods", "bayesian-td-greedy", "--dry-run")
    assert "bayesian-td-greedy" in planned


@pytest.mark.long
def test_the_packages_of_the_page_pass_their_checks_and_are_submitted(uqbench):
    folder, call, wheel = uqbench
    assert "agent bayesian-td: " in call("plugin", "check", "my-method")
    runs = [
        "--suite", "my-method", "--budget", "smoke", "--out", "sent", "--methods", "bayesian-td",
    ]  # fmt: skip
    call("run", *runs)
    call("submit", str(wheel), *runs, "--to", "row.json")
    assert json.loads((folder / "row.json").read_text())["method"] == "bayesian-td"
