"""Leaderboards made by tox: environments from suite files, one installation, several at once.

The installation is a wheel that links to the packages of the Python that runs the tests, so that
nothing is downloaded.
"""

import csv
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("tox", reason="tox is not installed beside the tests")

ROOT = Path(__file__).parents[2]
TWO = ("five-state", "ube-chain")
WHEEL = "linked-1-py3-none-any.whl"


@pytest.fixture
def checkout(tmp_path):
    """What tox reads of this repository, with a requirement that is here already."""
    for name in ("tox.ini", "toxfile.py", "tools"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "plugins").symlink_to(ROOT / "plugins")
    places = [*site.getsitepackages(), *(p for p in sys.path if p.endswith("site-packages"))]
    links = "".join(f"import site; site.addsitedir({place!r})\n" for place in dict.fromkeys(places))
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as wheel:
        info = "linked-1.dist-info"
        wheel.writestr("linked.pth", links)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: linked\nVersion: 1\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(
            f"{info}/entry_points.txt", "[console_scripts]\nuqbench = uqbench.cli:main\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    (tmp_path / "requirements.txt").write_text(f"--no-index\n./{WHEEL}\n")
    return tmp_path


def tox(checkout, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tox", *arguments],
        cwd=checkout, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_is_an_environment_for_every_suite_and_budget(checkout):
    listed = tox(checkout, "list", "--no-desc", "-qq").split()
    assert {f"leaderboard-{suite}-{budget}" for suite in TWO for budget in ("smoke", "paper")} <= {
        *listed
    }


def test_two_leaderboards_are_made_at_once_from_one_installation(checkout):
    names = ",".join(f"leaderboard-{suite}-smoke" for suite in TWO)
    told = tox(checkout, "run-parallel", "-e", names, "--parallel-live", "--", "--workers", "1")
    assert told.count("installing ") == 1
    for suite in TWO:
        with (checkout / "leaderboards" / suite / "smoke" / "leaderboard.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert rows
        assert all(row["runs_scored"] == row["runs_planned"] for row in rows)
    again = tox(checkout, "run", "-e", names.split(",")[0])
    assert "installing " not in again
