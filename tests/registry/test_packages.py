"""Commands and modules that other packages bring, where they are installed and where not."""

import os
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import commands
import pytest
from packaging.requirements import Requirement

from uqbench import BROUGHT
from uqbench.cli import COMMANDS as OWN
from uqbench.cli import main
from uqbench.errors import UqbenchError
from uqbench.registry.packages import COMMANDS, MODULES, PACKAGES, brought
from uqbench.suites import Catalog

COMMAND_NAMES = sorted(PACKAGES[COMMANDS].keys() - OWN)
MODULE_NAMES = sorted(PACKAGES[MODULES].keys() & {*BROUGHT})
NAMES = [(COMMANDS, n) for n in COMMAND_NAMES] + [(MODULES, n) for n in MODULE_NAMES]


@pytest.mark.parametrize(("group", "name"), NAMES)
def test_what_is_brought_comes_of_the_package_that_would_be_named(group, name):
    assert brought(group)[name].dist.name == PACKAGES[group][name]


def test_compare_is_installed_with_uqbench_alone():
    needed = map(Requirement, metadata.requires("uqbench") or ())
    assert "uqbench-compare" in {one.name for one in needed if one.marker is None}


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_both_names_of_a_module_are_one_module(name):
    module = import_module(brought(MODULES)[name].value)
    assert import_module(f"uqbench.{name}") is module
    assert module.__spec__.name == module.__name__


def without(package: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python whose path is ours but for a package: neither its code nor its metadata is there."""
    module, path = package.replace("-", "_"), []
    for number, place in enumerate(map(Path, sys.path)):
        if not place.is_dir() or (place / module).exists():
            continue
        if any(place.glob(f"{module}-*.dist-info")):
            copy = folder / str(number)
            copy.mkdir()
            for entry in place.iterdir():
                if not entry.name.lstrip("_").startswith(module):
                    (copy / entry.name).symlink_to(entry)
            place = copy
        path.append(str(place))
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)}, cwd=folder,
        capture_output=True, text=True, check=False)  # fmt: skip


def to_install(package: str) -> str:
    """What the error says: the extra of uqbench that is a package alone, or the package."""
    alone = {"uqbench-report": "'uqbench[report]'", "uqbench-testing": "'uqbench[testing]'"}
    return f"python -m pip install {alone.get(package, package)}"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["new", "mine", "--kind", "agent"]])
@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_a_command_whose_package_is_missing_says_which_to_install(name, arguments, tmp_path):
    package = PACKAGES[COMMANDS][name]
    done = without(package, tmp_path, "-m", "uqbench", name, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    said = f"uqbench: uqbench {name} is in the package {package}: {to_install(package)}"
    assert " ".join(done.stderr.split()) == said


@pytest.mark.parametrize("name", MODULE_NAMES)
def test_a_module_whose_package_is_missing_says_which_to_install(name, tmp_path):
    package = PACKAGES[MODULES][name]
    done = without(package, tmp_path, "-c", f"import uqbench.{name}")
    said = f"uqbench.{name} is in the package {package}: {to_install(package)}"
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {said}"


def test_help_lists_a_command_whose_package_is_missing(tmp_path):
    done = without("uqbench-testing", tmp_path, "-m", "uqbench", "--help")
    assert done.returncode == 0
    assert "plugin " in done.stdout
    assert "uqbench plugin is in the package uqbench-testing" in " ".join(done.stdout.split())


def lacking_modules(*modules: str) -> str:
    """Python that has none of these modules, as an installation without extras."""
    needed = "import uqbench\nfrom uqbench.errors import UqbenchError\n"
    return f"import sys; sys.modules |= dict.fromkeys({modules!r})\n{needed}"


TRAINS = [
    ("uqbench.record", "uqbench.record needs torch, which is not installed"),
    ("uqbench.evaluate", "uqbench.evaluate needs torch, which is not installed"),
    ("uqbench.run('toy')", "this needs torch, which is not installed"),
]


@pytest.mark.parametrize(("code", "expected"), TRAINS)
def test_whoever_asks_for_what_trains_is_told_the_extra(code, expected, tmp_path):
    absent = "torch", "rliable", "arch", "statsmodels", "numba", "seaborn"
    code = lacking_modules(*absent) + f"try: {code}\nexcept UqbenchError as error: print(error)"
    variables = {"PYTHONPATH": str(Path(__file__).parents[1] / "toy"), "UQBENCH_PLUGINS": "toy"}
    done = commands.python("-c", code, folder=tmp_path, **variables)
    assert done.stdout.startswith(expected), done.stderr
    assert "python -m pip install 'uqbench[rl]'" in done.stdout


def test_scores_are_compared_without_pyarrow_and_parquet_says_that_it_is_missing(tmp_path):
    scores = "".join(f"{m},x,{s},{v + s / 9}\n" for m, v in (("a", 1), ("b", 2)) for s in range(3))
    (tmp_path / "scores.csv").write_text("method,task,seed,score\n" + scores)
    (tmp_path / "scores.parquet").touch()
    code = lacking_modules("torch", "pyarrow", "numba") + (
        "print(len(uqbench.compare('scores.csv').ranks))\n"
        "try: uqbench.compare('scores.parquet')\nexcept UqbenchError as error: print(error)"
    )
    done = commands.python("-c", code, folder=tmp_path)
    missing = "scores.parquet needs pyarrow, which is not installed: python -m pip install pyarrow"
    assert done.stdout.splitlines() == ["2", missing], done.stderr


def test_extras_that_errors_name_bring_the_package():
    needed = [Requirement(one) for one in metadata.requires("uqbench") or ()]
    for extra in ("report", "testing"):
        of = {one.name for one in needed if one.marker and one.marker.evaluate({"extra": extra})}
        assert f"uqbench-{extra}" in of


def test_a_list_of_no_suites_names_the_extras_that_have_some(capsys, monkeypatch):
    monkeypatch.setattr("uqbench.cli.list_.listing", lambda *_: {"suites": []})
    monkeypatch.setattr(sys, "argv", ["uqbench", "list", "suites"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().out
    assert "(none): python -m pip install 'uqbench[rl]'" in said
    assert "'uqbench[predictive]'" in said
    with pytest.raises(UqbenchError, match=r"There is no suite 'minatar'.*\n.*uqbench\[rl\]"):
        Catalog({}, ()).suite("minatar")
