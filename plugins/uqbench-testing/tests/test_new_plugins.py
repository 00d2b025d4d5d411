"""``uqbench plugin new`` in a fresh environment, from a built wheel: unedited, up to its board."""

import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

import pytest
from uqbench_testing.templates.render import KINDS, render, write

from uqbench.errors import UqbenchError

ROOT = Path(__file__).parents[3]
PACKAGE = Path(__file__).parents[1]
MINUTES = 3.0


def test_nothing_is_overwritten(tmp_path):
    folder = tmp_path / "mine"
    write(folder, render("mine", ("agent",)))
    (folder / "notes.txt").write_text("kept")
    with pytest.raises(UqbenchError, match="nothing is overwritten"):
        write(folder, render("mine", ("risk",)))
    assert (folder / "notes.txt").read_text() == "kept"
    assert not (folder / "src/mine/risk.py").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_brings_what_its_row_needs_and_nothing_else(kind):
    made = render("my-method", (kind,))
    own = {p.stem.replace("_", "-") for p in map(Path, made) if p.parent.name == "my_method"}
    assert own & set(KINDS) == {kind, KINDS[kind]} - {""}
    for path, text in made.items():
        if path.endswith(".py"):
            compile(text, path, "exec")


def test_a_name_that_is_none_is_refused_with_one_that_is():
    with pytest.raises(UqbenchError, match="such as 'bad-name'"):
        render("Bad Name!", ("agent",))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheels of uqbench and this package; libraries come from ours."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder)  # pip is ours, too
    python = folder / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (folder / "lib" / version / "site-packages" / "ours.pth").write_text(line)
    offline = ["--quiet", "--no-deps", "--no-build-isolation"]
    wheel = ["pip", "wheel", *offline, "--wheel-dir", str(folder), str(ROOT), str(PACKAGE)]
    subprocess.run([python, "-m", *wheel], check=True, cwd=folder)
    built = folder.glob("*.whl")
    subprocess.run(
        [python, "-m", "pip", "install", *offline, "--ignore-installed", *built],
        check=True, cwd=folder)  # fmt: skip
    return python


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_passes_its_tests_and_has_a_row_within_three_minutes(
    kind, python, tmp_path, monkeypatch
):
    # libraries come from our environment, and our plugins with them: as if they were not there
    monkeypatch.setenv("UQBENCH_PLUGINS", f"new-{kind},builtin")

    def made(*command: str | Path) -> str:
        done = subprocess.run(
            [str(python), *map(str, command)], cwd=tmp_path, capture_output=True, text=True,
            check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert str(python.parent.parent) in made("-c", "import uqbench; print(uqbench.__file__)")
    name = f"new-{kind}"
    made("-m", "uqbench", "plugin", "new", name, "--kind", kind)
    made("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", tmp_path / name)
    began = time.perf_counter()
    assert "passed" in made("-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / name)
    assert "failed" not in made("-m", "uqbench", "plugin", "check", name)
    suite = f"{name}-data" if kind in ("dataset", "estimator") else name
    said = made("-m", "uqbench", "run", "--suite", suite).splitlines()
    (board,) = (line for line in said if line.endswith("/leaderboard.csv"))
    assert time.perf_counter() - began < 60 * MINUTES
    assert len([line.split(",")[0] for line in (tmp_path / board).read_text().splitlines()]) >= 2
    if kind == "figure":
        what = ("--what", "returns-by-task", "--to", tmp_path / "pictures")
        made("-m", "uqbench", "plot", (tmp_path / board).parent, *what)
        assert list((tmp_path / "pictures").iterdir())
    print(f"{kind}: {time.perf_counter() - began:.0f} s")
    made("-m", "pip", "uninstall", "--quiet", "--yes", name)
