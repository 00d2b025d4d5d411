"""From a name and kinds to the files of a plugin, without a network.

A file ``X.tmpl`` is a ``string.Template``. Each kind has a module of its own, an entry point that
names its class, and its lines in the suites; a kind that cannot be on a board by itself brings what
it needs, an agent an environment.
"""

import re
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from string import Template

from uqbench.contract.errors import UqbenchError
from uqbench.contract.version import __version__

KINDS = {
    "agent": ("environment", "agents", "", "BayesianTD"),
    "loop-agent": ("environment", "agents", "-loop", "Loop"),
    "environment": ("", "environments", "-walk", "Walk"),
    "lane-environment": ("", "environments", "-lanes", "WalkLanes"),
    "dataset": ("estimator", "datasets", "-line", "Line"),
    "estimator": ("dataset", "estimators", "-bayes", "BayesianLine"),
    "risk": ("environment", "risk_measures", "-worst", "SoftWorst"),
    "claim-kind": ("environment", "claim_kinds", "-above", "Above"),
    "figure": ("environment", "", "", ""),
}
"""By kind: another that it needs for a row on a board; the group of its entry point, the ending of
its name, and its class."""
TASKS = {"environment": "walk", "lane-environment": "lanes"}
LEARNS_FROM_DATA = {"dataset", "estimator"}
FILES = (
    "pyproject.toml",
    "tox.ini",
    "README.md",
    ".github/workflows/tests.yml",
    "tests/test_conformance.py",
)
"""Of every plugin, each of the template of that name."""
NAME = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"


def render(name: str, kinds: Collection[str]) -> dict[str, str]:
    """The files of a new plugin, texts by path below its folder.

    Raises:
        UqbenchError: the name is not one of a distribution and a suite.
    """
    if not re.fullmatch(NAME, name):
        near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").lstrip("0123456789-")
        raise UqbenchError(
            f"expected a name of lower-case words and hyphens, such as {near or 'my-method'!r}; "
            f"got {name!r}"
        )
    chosen = [k for k in KINDS if k in kinds or any(k == KINDS[other][0] for other in kinds)]
    package = name.replace("-", "_")
    major, minor = __version__.split(".")[:2]  # the contract's version and the next
    values = {"name": name, "package": package, "version": __version__}
    values |= {"series": f"{major}.{minor}", "next": f"{major}.{int(minor) + 1}"}
    values["extra"] = "[report]" if "figure" in chosen else ""
    values["entries"] = _entries(name, package, chosen)

    def filled(template: str) -> str:
        text = (files("uqbench.testing.templates") / f"{template}.tmpl").read_text(encoding="utf-8")
        return Template(text).substitute(values)

    source = f"src/{package}"
    made = {path: filled(path.rpartition("/")[2]) for path in FILES}
    made |= {f"{source}/py.typed": "", f"{source}/__init__.py": '"""A plugin for uqbench."""\n'}
    for module in map(_module, chosen):
        made[f"{source}/{module}.py"] = filled(f"{module}.py")
    if "figure" in chosen:
        made["tests/test_figure.py"] = filled("test_figure.py")
        made[f"{source}/__init__.py"] = filled("hooks.py")
    if set(chosen) - LEARNS_FROM_DATA:
        made[f"{source}/suite.toml"] = _suite(filled("suite.toml"), chosen)
    if set(chosen) & LEARNS_FROM_DATA:
        made[f"{source}/data.toml"] = filled("data.toml")
    return made


def _module(kind: str) -> str:
    return kind.replace("-", "_")


def _entries(name: str, package: str, chosen: Collection[str]) -> str:
    """The entry points of a plugin of these kinds, as pyproject.toml has them."""
    entries = {"uqbench": {name: package}} if "figure" in chosen else {}
    for kind in chosen:
        _, group, ending, cls = KINDS[kind]
        if cls:
            own = entries.setdefault(f"uqbench.{group}", {})
            own[f"{name}{ending}"] = f"{package}.{_module(kind)}:{cls}"
    suites = {name: f"{package}:suite.toml"} if set(chosen) - LEARNS_FROM_DATA else {}
    if set(chosen) & LEARNS_FROM_DATA:
        suites[f"{name}-data"] = f"{package}:data.toml"
    return "".join(
        f'\n[project.entry-points."{group}"]\n'
        + "".join(f'{key} = "{value}"\n' for key, value in own.items())
        for group, own in (entries | {"uqbench.suites": suites}).items()
    )


def _suite(template: str, chosen: Collection[str]) -> str:
    """A suite's file, of the sections ``## agent`` of a template that are for these kinds."""
    _, *parts = re.split(r"^## (\S+)\n", template, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    text = "".join(sections[k] for k in ("head", *chosen, "normalization") if k in sections)
    tasks = [task for kind, task in TASKS.items() if kind in chosen]
    return text + "".join(f"{task} = {{ zero = -1.0, one = 0.8 }}\n" for task in tasks)


def write(folder: Path, made: dict[str, str]) -> None:
    """Write the files of a new plugin.

    Raises:
        UqbenchError: the folder exists and is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UqbenchError(f"{folder} exists already, and nothing is overwritten; move it away")
    for path, text in made.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
