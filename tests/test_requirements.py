"""Packages declare what they import; plugins' READMEs install just what they need."""

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from uqbench import OWN_LANES, lanes
from uqbench.registry import Host

ROOT = Path(__file__).parents[1]
FOLDERS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
SELF = "uqbench"


def own_requirements(folder: Path, *, extras: bool = False) -> set[str]:
    """Names of the packages of this repository that one declares, for extras too if so asked."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"]]
    for texts in project.get("optional-dependencies", {}).values() if extras else ():
        declared += texts
    names = {re.split(r"[^A-Za-z0-9_.-]", text, maxsplit=1)[0] for text in declared}
    return {name for name in names if (ROOT / "plugins" / name).is_dir()}


def closure(folder: Path) -> set[str]:
    """A package and what it needs, of this repository, apart from uqbench itself."""
    found, waiting = set(), {folder.name} | own_requirements(ROOT)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= own_requirements(ROOT / "plugins" / name) - found
    return found


def toolkit_names(text: str) -> list[str]:
    """What is imported of ``uqbench.lanes`` that is in the package uqbench-lanes."""
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("uqbench.lanes"):
            module = f"{node.module}.".split(".")[2]
            names += [module or alias.name for alias in node.names]
    return [name for name in names if name not in {*OWN_LANES, *lanes.__all__}]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_package_of_this_repository_that_it_imports_is_declared(folder):
    text = "".join(path.read_text() for path in folder.glob("src/**/*.py"))
    imported = {
        name.replace("_", "-")
        for name in re.findall(r"^\s*(?:from|import) (uqbench_\w+)", text, re.M)
    }
    if toolkit_names(text):
        imported.add("uqbench-lanes")
    assert imported <= {folder.name} | own_requirements(folder, extras=True)


def imported(package: Path) -> set[str]:
    """Names of the packages of others whose modules are imported anywhere in its code."""
    parsed = [ast.parse(path.read_text()) for path in package.rglob("*.py")]
    nodes = [node for module in parsed for node in ast.walk(module)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    modules = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    known = metadata.packages_distributions()
    return {known.get(name, [name])[0] for name in modules if not name.startswith("uqbench")}


def test_what_uqbench_imports_is_installed_with_it():
    """The environment of the tests has more, so that an import alone shows nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [text for texts in project["optional-dependencies"].values() for text in texts]
    declared = {Requirement(text).name for text in project["dependencies"] + extras}
    with_them = {"typing_extensions": "pydantic"}
    assert set(with_them.values()) <= declared
    brought_by_plugins = {"numba"}  # kernels are written in it
    foreign = imported(ROOT / "uqbench") - set(with_them) - brought_by_plugins
    assert {name.lower() for name in foreign} <= declared


@pytest.fixture(scope="module")
def host() -> Host:
    return Host.load()


def test_every_suite_has_its_baseline_and_what_its_own_rows_name_among_the_requirements(host):
    suites = [(path, plugin, tomllib.loads(path.read_text())) for path, plugin in host.suite_files]
    providers: dict[tuple[str, str], str] = {}
    for _, plugin, table in suites:
        for suite, part in [(table.get("name"), table), *table.get("extend", {}).items()]:
            for method in part.get("methods", []):
                providers[suite, method["name"]] = plugin.distribution
    for path, plugin, table in suites:
        if not plugin.shipped or plugin.distribution == SELF:
            continue
        named = set()
        for suite, part in [(table.get("name"), table), *table.get("extend", {}).items()]:
            for method in part.get("methods", []):
                for key, registry in (("agent", host.agents), ("estimator", host.estimators)):
                    if key in method:
                        named.add(registry.origin(method[key]).distribution)
                if "base" in method:
                    named.add(providers[suite, method["base"]])
        if "baseline" in table:
            named.add(providers[table["name"], table["baseline"]])
        assert named <= closure(ROOT / "plugins" / plugin.distribution) | {SELF}, path.name


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_readme_installs_what_is_declared_and_says_what_may_be_imported(folder):
    readme = (folder / "README.md").read_text()
    (line,) = re.findall(r"^pip install \. (\./plugins/.*)$", readme, re.M)
    assert {part.rpartition("/")[2] for part in line.split()} == closure(folder)
    public = readme.partition("## What may be imported")[2]
    assert public.strip()
    package = folder.name.replace("-", "_")
    for name in re.findall(rf"`({package}[\w.]+)`", public):
        module = ROOT.joinpath("plugins", folder.name, "src", *name.split("."))
        parent, last = module.parent.with_suffix(".py"), module.name
        assert (
            module.is_dir()
            or module.with_suffix(".py").is_file()
            or re.search(rf"^(?:def|class) {last}\b", parent.read_text(), re.M)
        ), name


def test_the_lock_has_the_pins_and_a_digest_of_each():
    pins = {
        line.lower().replace("_", "-")
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if re.fullmatch(r"[\w.-]+==[\w.+-]+", line) and not line.startswith("torch==")
    }
    text = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    locked = dict(line.split(maxsplit=1) for line in text.splitlines() if line[:1] not in ("#", ""))
    assert {name.replace("_", "-").lower() for name in locked} == pins
    digest = r"--hash=sha256:[0-9a-f]{64}"
    assert all(re.fullmatch(rf"{digest}(\s+{digest})*\s*", of) for of in locked.values())
