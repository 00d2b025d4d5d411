"""What is released, where there is no clone: ``tox -e wheels``.

Every package is built as an sdist, and its wheel from that; they are installed with what they need
into a new environment, whose commands run in an empty folder.
"""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINS = ROOT / "requirements.txt"
ENGINES = {"uqbench-jax", "uqbench-sb3"}
"""Plugins of a library that is installed for them alone: built, not installed."""


def call(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    return done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel of every package."""
    folder = tmp_path_factory.mktemp("dist")
    for project in (ROOT, *sorted(ROOT.glob("plugins/uqbench-*"))):
        # boards lie outside of their package, and so in no sdist of it
        kind = ["--wheel"] if project.name == "uqbench-boards" else []
        call(sys.executable, "-m", "build", *kind, "--outdir", folder, project)
    return folder


@pytest.fixture(scope="session")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with ``uqbench[all]`` from these wheels."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    pins, lines = folder / "pins.txt", PINS.read_text("utf-8").splitlines()
    pins.write_text("\n".join(line for line in lines if "==" in line), "utf-8")
    install = ("-m", "pip", "install", "--quiet", "--constraint", pins, "--find-links", built)
    call(folder / "bin" / "python", *install, "uqbench[all]", "uqbench-boards")
    return folder / "bin"


def test_every_package_has_an_sdist_and_a_wheel(built: Path) -> None:
    packages = {"uqbench", *(path.name for path in ROOT.glob("plugins/uqbench-*"))}
    made = sorted(path.name for path in built.iterdir())
    for package in packages:
        name = package.replace("-", "_")
        files = 1 if package == "uqbench-boards" else 2
        assert sum(file.startswith(f"{name}-0.1.0") for file in made) == files, (package, made)


def test_a_newcomer_sees_the_demo(installed: Path, tmp_path: Path) -> None:
    assert (tmp_path / "uqbench-demo").exists() or call(installed / "uqbench", "demo", cwd=tmp_path)


def test_whoever_has_scores_compares_them(installed: Path, tmp_path: Path) -> None:
    rows = [f"{m},{t},{s},{k + s / 10}" for k, m in enumerate("ab") for t in "xy" for s in range(5)]
    (tmp_path / "scores.csv").write_text("\n".join(["method,task,seed,score", *rows]), "utf-8")
    assert "b" in call(installed / "uqbench", "compare", "scores.csv", cwd=tmp_path)


def test_an_author_begins_a_package_and_it_is_checked(installed: Path, tmp_path: Path) -> None:
    call(installed / "uqbench", "plugin", "new", "mine", "--kind", "agent", cwd=tmp_path)
    (made,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    install = ("-m", "pip", "install", "--quiet", "--no-deps", made)
    call(installed / "python", *install, cwd=tmp_path)
    call(installed / "uqbench", "plugin", "check", "mine", cwd=tmp_path)


def test_stored_boards_are_compared_without_a_clone(installed: Path, tmp_path: Path) -> None:
    board = f"{call(installed / 'uqbench-boards', cwd=tmp_path).strip()}/five-state/paper"
    assert "same" in call(installed / "uqbench", "compare", board, board, cwd=tmp_path)
