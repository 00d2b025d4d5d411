"""A plugin of tox: environments ``check`` and ``leaderboard-SUITE-BUDGET`` of a package's own.

Active where uqbench is installed beside tox (``requires = uqbench`` in ``tox.ini`` sees to it) and
the project's ``pyproject.toml`` has an entry point in the group ``uqbench``. Only the commands are
set: all other settings, such as ``deps``, are inherited from ``[testenv]``; an environment of the
same name in ``tox.ini`` is left as it is. uqbench's own repository has the same environments, with
one installation for all of them (``toxfile.py``).
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tox.config.loader.memory import MemoryLoader
from tox.config.types import Command
from tox.plugin import impl

if TYPE_CHECKING:
    from tox.config.sets import ConfigSet
    from tox.session.state import State

CHECK = "check"
PREFIX = "leaderboard-"
THREADS = {"OMP_NUM_THREADS": "1", "MKL_CBWR": "AVX2"}
"""With which runs are bit-identical, and workers do not compete."""


@impl
def tox_extend_envs() -> Iterator[str]:
    """The names of environments that a project has by being a plugin of uqbench."""
    root = _root(Path.cwd())
    if root is None:
        return iter(())
    own = [f"{PREFIX}{suite}-{budget}" for suite, budget in boards(root)]
    return iter(dict.fromkeys([CHECK, *own, *asked(sys.argv[1:], os.environ)]))


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """What they do."""
    root = _root(core_conf["tox_root"])
    if root is None:
        return
    written = {name for section in state.conf.sections() for name in section.name.split(",")}
    more = state.conf.pos_args(None) or ()
    for name in tox_extend_envs():
        if name in written:
            continue
        if name == CHECK:
            project = _project(root)["name"]
            environment = MemoryLoader(
                description=f"check what {project} registers against uqbench's rules",
                set_env=THREADS,
                commands=[Command(["uqbench", "plugin", "check", project, *more])],
            )
        else:
            environment = leaderboard(*parts(root, name), more)
        state.conf.memory_seed_loaders[name].append(environment)


def leaderboard(
    suite: str, budget: str, more: Sequence[str], uqbench: str = "uqbench", **settings: Any
) -> MemoryLoader:
    """An environment that runs a suite and writes its board.

    Args:
        suite: its name.
        budget: its name.
        more: arguments of ``uqbench run``.
        uqbench: the program.
        settings: others of tox.
    """
    what = ["--suite", suite, "--budget", budget, "--out", "results"]
    return MemoryLoader(
        description=f"run {suite} under the budget {budget} and write its leaderboard",
        set_env=THREADS,
        commands=[
            Command([uqbench, "run", *what, *more]),
            Command([uqbench, "leaderboard", *what, "--to", "leaderboards", *_chosen(more)]),
        ],
        **settings,
    )


def _chosen(more: Sequence[str]) -> list[str]:
    """Those of ``run``'s arguments that say which rows a board has."""
    rows = ("--methods", "--agents", "--seeds", "--tasks", "--set")
    return [
        text for at, argument in enumerate(more) if argument in rows for text in more[at : at + 2]
    ]


def boards(root: Path) -> Iterator[tuple[str, str]]:
    """Suite and budget of every leaderboard of the suites below a project's folders ``src``."""
    for path in sorted([*root.glob("src/**/*.toml"), *root.glob("plugins/*/src/**/*.toml")]):
        table = _toml(path)
        if isinstance(table.get("name"), str) and isinstance(table.get("budgets"), dict):
            yield from ((table["name"], budget) for budget in table["budgets"])


def asked(arguments: Sequence[str], variables: Any) -> Iterator[str]:
    """Names of leaderboards that a command asks for: of suites that other packages have."""
    texts = [variables.get("TOXENV", ""), variables.get("TOX_ENV", ""), *arguments]
    for text in texts:
        for name in text.removeprefix("-e").removeprefix("--env=").split(","):
            if name.startswith(PREFIX) and "-" in name.removeprefix(PREFIX):
                yield name.strip()


def parts(root: Path, name: str) -> tuple[str, str]:
    """Suite and budget, which may have hyphens both.

    The project's own are known. Others' suites are not installed where tox is: what they all have
    is the budgets ``smoke`` and ``paper``, and what varies these begins alike (``paper-1000``).
    """
    both = name.removeprefix(PREFIX)
    for suite, budget in boards(root):
        if f"{suite}-{budget}" == both:
            return suite, budget
    varied = re.fullmatch(r"(.+)-((?:smoke|paper)-.+)", both)
    if varied:
        return varied[1], varied[2]
    suite, _, budget = both.rpartition("-")
    return suite, budget


def _root(folder: Path) -> Path | None:
    """The nearest folder with a ``pyproject.toml``, where that is a plugin's."""
    for place in (folder, *folder.parents):
        if (place / "pyproject.toml").is_file():
            project = _project(place)
            plugin = "uqbench" in project.get("entry-points", {})
            return place if plugin and project.get("name") != "uqbench" else None
    return None


def _project(root: Path) -> dict[str, Any]:
    project: dict[str, Any] = _toml(root / "pyproject.toml").get("project", {})
    return project


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}  # whoever needs the file says what is wrong with it
