"""A package from outside the tree: built, installed into a fresh environment, and in a suite."""

import csv
import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "outside"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with the package; what it needs comes from ours."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder)  # pip is ours, too
    python = folder / "bin" / "python"
    purelib = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    # addsitedir, so that editable installs there are followed
    line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (Path(purelib) / "ours.pth").write_text(line)
    install = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", str(SOURCE)]
    subprocess.run([python, "-m", *install], check=True, cwd=folder)
    return python


def uqbench(python: Path, *arguments: str) -> str:
    command = [str(python), "-m", "uqbench", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open() as file:
        return {row["method"]: row for row in csv.DictReader(file)}


def test_it_is_not_seen_where_it_is_not_installed():
    listing = subprocess.run(
        [sys.executable, "-m", "uqbench", "list", "agents", "--json"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "averages" not in {agent["name"] for agent in json.loads(listing.stdout)}


@pytest.mark.long
def test_its_own_suite_runs_with_events_ground_truth_and_its_risk_measure(python, tmp_path):
    uqbench(python, "run", "--suite", "bandits", "--out", str(tmp_path))
    board = rows(tmp_path / "leaderboards/bandits/smoke/leaderboard.csv")
    assert {name: row["runs_scored"] for name, row in board.items()} == {
        "averages": "6",
        "first-attempt": "6",
    }
    # the random first attempt regrets 0.5 and 5/3 a pull; averages at most a fifth of it and luck
    assert float(board["averages"]["mean"]) > 0.6 > float(board["first-attempt"]["mean"])
    record = json.loads(next(tmp_path.glob("bandits/smoke/two/averages/0-*/run.json")).read_text())
    assert record["scalars"]["worst_return"] < 0 < record["scalars"]["regret"] < 0.4
    assert "outside" in record["provenance"]["content"]


def test_it_joins_a_suite_of_another_plugin_and_gets_its_row(python, tmp_path):
    out = ("--out", str(tmp_path))
    small = ("--budget", "smoke", "--tasks", "breakout", "--steps", "100", "--seeds", "1")
    small += ("--workers", "1")
    stdout = uqbench(python, "run", "--suite", "minatar", "--methods", "averages,dqn", *small, *out)
    (path,) = (line for line in stdout.splitlines() if line.endswith("leaderboard.csv"))
    board = rows(Path(path))
    assert board["averages"]["runs_scored"] == "1"
    assert board["averages"]["mean"] != ""


def test_the_shortest_agents_are_short():
    """Lines an author writes for an agent, without imports: the contract asks for no more."""
    text = SOURCE.joinpath("outside.py").read_text()

    def lines(name: str) -> int:
        body = text.split(f"class {name}(")[1].split("\n\n\n")[0]
        return sum(bool(line.strip()) for line in body.splitlines())

    assert lines("Averages") <= 18
    assert lines("FirstAttempt") <= 13
