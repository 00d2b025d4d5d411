"""A package of others, in a clean environment: the documented lines of tox.ini are all it needs."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("tox", reason="tox is not installed beside the tests")

from uqbench.testing.templates.render import render, write

ROOT = Path(__file__).parents[2]
TESTING = ROOT / "plugins" / "uqbench-testing"


def linked(folder: Path, name: str, version: str) -> None:
    """A wheel of a library that links to ours: nothing is downloaded."""
    places = [sysconfig.get_path("purelib"), *(p for p in sys.path if "site-packages" in p)]
    lines = "".join(f"import site; site.addsitedir({p!r})\n" for p in dict.fromkeys(places))
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}_linked.pth", lines)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
        if name == "pytest":
            wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\npytest = pytest:main\n")


@pytest.fixture(scope="module")
def author(tmp_path_factory):
    """An author's project, and a function that runs tox, which is installed beside uqbench."""
    folder = tmp_path_factory.mktemp("author")
    wheels = folder / "wheels"
    wheels.mkdir()
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", wheels, ROOT, TESTING], check=True, cwd=folder)
    for name, version in (("hatchling", "1.99"), ("pytest", "9.99")):
        linked(wheels, name, version)
    venv.create(folder / "python", with_pip=True)
    python = folder / "python" / "bin" / "python"
    variables = {
        "PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(folder), "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels), "PIP_NO_DEPS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_IGNORE_INSTALLED": "1",  # ours, to which the libraries link, is no wheel
        "VIRTUALENV_NO_PERIODIC_UPDATE": "1",
    }  # fmt: skip
    install = [python, "-m", "pip", "install", "--quiet", "uqbench", "uqbench-testing", "pytest"]
    subprocess.run(install, check=True, env=variables, cwd=folder)
    project = folder / "mine"
    write(project, render("mine", ("agent",)))

    def tox(*arguments: str) -> str:
        done = subprocess.run(
            [python, "-m", "tox", *arguments], cwd=project, env=variables, capture_output=True,
            text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return project, tox


@pytest.mark.long
def test_a_package_of_others_has_checks_tests_and_a_leaderboard(author):
    project, tox = author
    listed = tox("list", "--no-desc", "-qq").split()
    assert {"check", "py311", "py312", "py313", "leaderboard"} <= {*listed}
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    assert re.search(r"\d+ passed", tox("run", "-e", f"check,{version},leaderboard"))
    with (project / "leaderboards" / "mine" / "smoke" / "leaderboard.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(row["runs_scored"] == row["runs_planned"] for row in rows)
    for name in ("check", "leaderboard"):  # the wheel's uqbench, not this checkout
        python = project / ".tox" / name / "bin" / "python"
        where = subprocess.run(
            [python, "-c", "import uqbench; print(uqbench.__file__)"],
            capture_output=True, text=True, check=True, cwd=project,
        ).stdout  # fmt: skip
        assert ".tox" in where


@pytest.mark.long
def test_its_row_is_submitted_verified_and_added_to_a_board(author, tmp_path):
    project, tox = author
    tox("run", "-e", "leaderboard", "--", "--suite", "mine", "--budget", "smoke")
    here = project / ".tox" / "leaderboard" / "bin"
    variables = {"PATH": f"{here}:/usr/bin:/bin", "OMP_NUM_THREADS": "1", "MKL_CBWR": "AVX2"}

    def uqbench(*arguments: str | Path, code: int = 0) -> str:
        done = subprocess.run(
            [here / "uqbench", *arguments], cwd=project, env=variables, capture_output=True,
            text=True, check=False)  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    sent, boards = tmp_path / "sent.json", tmp_path / "boards"
    what = ("--suite", "mine", "--budget", "smoke")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", tmp_path, project], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    uqbench("submit", wheel, *what, "--methods", "mine", "--to", sent)
    told = uqbench("verify", sent, wheel, "--add", boards)
    assert "verified: made here" in told or "verified (no sandbox): made here" in told
    (row,) = csv.DictReader(
        (boards / "mine" / "smoke" / "leaderboard.csv").read_text().splitlines()
    )
    assert row["method"] == "mine"
    assert row["submitted"].startswith(("verified: made here", "verified (no sandbox): made here"))
    assert "byte for byte" in uqbench("leaderboard", *what, "--to", boards, "--check")
