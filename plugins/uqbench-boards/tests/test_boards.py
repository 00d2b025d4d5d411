"""The wheel has the tables of every board, and is found where it is installed."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import uqbench
from uqbench.contract.errors import UqbenchError

PLUGIN = Path(__file__).parents[1]
BOARDS = PLUGIN.parents[1] / "leaderboards"


def test_a_wheel_has_every_board_and_says_where_they_are(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", tmp_path, PLUGIN], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size <= 3_000_000
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "installed")
    code = "import uqbench_boards; uqbench_boards.main()"
    run = [sys.executable, "-P", "-c", code]
    said = subprocess.run(
        run,
        env={"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=True,
    )
    folder = Path(said.stdout.strip())
    assert folder == tmp_path / "installed" / "uqbench_boards" / "leaderboards"
    names = [path.relative_to(BOARDS) for path in BOARDS.rglob("*") if path.is_file()]
    missing = [name for name in names if not (folder / name).exists()]
    assert {name.name for name in missing} == {
        "curves.parquet",
        "uncertainty.parquet",
        "scores.csv.gz",
    }
    there = [name for name in names if name not in missing]
    assert all((folder / name).read_bytes() == (BOARDS / name).read_bytes() for name in there)
    own, stored = uqbench.load(folder), uqbench.load(BOARDS)
    assert [one.title for one in own.boards] == [one.title for one in stored.boards]
    assert own["minatar", "quick"].scores.equals(stored["minatar", "quick"].scores)


def test_a_board_of_tables_alone_shows_them_and_says_where_its_scores_are(tmp_path):
    board = tmp_path / "minatar" / "quick"
    shutil.copytree(BOARDS / "minatar" / "quick", board)
    (board / "scores.csv.gz").unlink()
    found = uqbench.load(tmp_path)["minatar", "quick"]
    assert len(found.board()) == len(uqbench.load(BOARDS)["minatar", "quick"].board())
    with pytest.raises(UqbenchError, match="has tables alone, not the scores"):
        _ = found.scores
    with pytest.raises(UqbenchError, match="has tables alone, not the scores"):
        uqbench.check_leaderboard(uqbench.Options("minatar", "quick"), tmp_path)
