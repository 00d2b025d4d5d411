"""The wheel has the tables of every board and is small; it is found where it is installed."""

import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

import uqbench
from uqbench.boards import StoredBoard
from uqbench.errors import UqbenchError

PLUGIN = Path(__file__).parents[1]
BOARDS = PLUGIN.parents[1] / "leaderboards"
MOST = 9_000_000
"""Bytes of the wheel."""
CURVES = {"curves.parquet", "uncertainty.parquet"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", folder, PLUGIN], check=True, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def folder(wheel) -> Path:
    """The leaderboards where the wheel is installed, as its command says."""
    with zipfile.ZipFile(wheel) as file:
        file.extractall(wheel.parent / "installed")
    code = "import uqbench_boards; uqbench_boards.main()"
    said = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(wheel.parent / "installed")},
        capture_output=True,
        text=True,
        check=True,
    )
    found = Path(said.stdout.strip())
    assert found == wheel.parent / "installed" / "uqbench_boards" / "leaderboards"
    return found


def names(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size <= MOST


def test_every_board_is_there_with_its_tables_and_says_where_it_is(folder):
    whole, copied = names(BOARDS), names(folder)
    assert copied <= whole
    assert copied >= {name for name in whole if name.name not in CURVES}
    assert all((folder / name).read_bytes() == (BOARDS / name).read_bytes() for name in copied)
    own, stored = uqbench.load(folder), uqbench.load(BOARDS)
    assert [one.title for one in own.boards] == [one.title for one in stored.boards]
    assert own.board().equals(stored.board())
    assert own.claims().equals(stored.claims())


def test_the_digest_of_what_is_left_out_is_in_the_manifest(folder):
    left = names(BOARDS) - names(folder)
    assert {name.name for name in left} == CURVES
    for name in left:
        digests = StoredBoard.read(folder / name.parent).manifest.sha256
        assert digests[name.name] == sha256((BOARDS / name).read_bytes()).hexdigest()


def test_every_board_has_its_scores_and_says_where_its_curves_are(folder):
    large = uqbench.load(folder)["ube-chain", "paper"]
    assert len(large.scores) > 1000
    with pytest.raises(UqbenchError, match=r"tables alone, no curves\.parquet; leaderboards/"):
        large.metrics()
