"""Leaderboards made by tox: environments from suite files, one installation, several at once.

The installation is a wheel that links to the packages of the Python that runs the tests, so that
nothing is downloaded.
"""

import csv
import os
import shutil
import site
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

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
        cwd=checkout, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_is_an_environment_for_every_suite_and_budget(checkout):
    listed = tox(checkout, "list", "--no-desc", "-qq").split()
    assert {f"leaderboard-{suite}-{budget}" for suite in TWO for budget in ("smoke", "paper")} <= {
        *listed
    }


def test_a_fresh_clone_has_them_where_tox_is_installed_and_uqbench_is_not(tmp_path):
    waiting, names = {"tox"}, set()
    while waiting:
        name = waiting.pop()
        names.add(name)
        needed = map(Requirement, metadata.requires(name) or ())
        waiting |= {r.name for r in needed if r.marker is None or r.marker.evaluate()} - names
    for name in names:
        for file in metadata.distribution(name).files or ():
            link = tmp_path / file.parts[0]
            if file.parts[0] != ".." and not link.exists():
                link.symlink_to(Path(file.locate()).parents[len(file.parts) - 1] / file.parts[0])
    done = subprocess.run(
        [sys.executable, "-P", "-S", "-m", "tox", "list", "--no-desc", "-qq"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "leaderboard-five-state-smoke" in done.stdout.split()


@pytest.mark.long
def test_two_leaderboards_are_made_at_once_from_one_installation(checkout):
    names = ",".join(f"leaderboard-{suite}-smoke" for suite in TWO)
    told = tox(checkout, "run-parallel", "-e", names, "--parallel-live", "--", "--workers", "1")
    assert told.count("installing ") == 1
    for suite in TWO:
        with (checkout / "leaderboards" / suite / "smoke" / "leaderboard.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert rows
        assert all(row["runs_scored"] == row["runs_planned"] for row in rows)
    assert "installing " not in tox(checkout, "run", "-e", names.split(",")[0])
