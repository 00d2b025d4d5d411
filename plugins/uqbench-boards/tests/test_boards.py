"""The wheel has every file of the boards, and is found where it is installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

import uqbench

PLUGIN = Path(__file__).parents[1]
BOARDS = PLUGIN.parents[1] / "leaderboards"


def test_a_wheel_has_every_board_and_says_where_they_are(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", tmp_path, PLUGIN], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
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
    assert names
    assert all((folder / name).read_bytes() == (BOARDS / name).read_bytes() for name in names)
    own, stored = uqbench.load(folder), uqbench.load(BOARDS)
    assert [one.title for one in own.boards] == [one.title for one in stored.boards]
