"""Tox environments ``leaderboard-SUITE-BUDGET`` of all suites in this repository.

They are read from the suite files, so that no list of them is kept by hand.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from tox.config.loader.memory import MemoryLoader
from tox.config.sets import ConfigSet
from tox.config.types import Command
from tox.plugin import impl
from tox.session.state import State
from tox.tox_env.python.pip.req_file import PythonDeps

ROOT = Path(__file__).parent
PREFIX = "leaderboard-"


def boards(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Suite and budget of every leaderboard there can be."""
    for path in sorted(root.glob("plugins/*/src/*/suites/*.toml")):
        suite = tomllib.loads(path.read_text(encoding="utf-8"))
        if "name" in suite:  # others extend the suite of another plugin
            yield from ((suite["name"], budget) for budget in suite["budgets"])


@impl
def tox_extend_envs() -> Iterator[str]:
    """Their names."""
    return iter([f"{PREFIX}{suite}-{budget}" for suite, budget in boards()])


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """What they do: share one installation, run a suite, write its board."""
    shared = str(core_conf["work_dir"] / "leaderboards")
    uqbench = str(Path(shared) / "bin" / "uqbench")
    install = ["python", str(ROOT / "tools" / "shared_environment.py"), shared, "requirements.txt"]
    for suite, budget in boards():
        what = ["--suite", suite, "--budget", budget, "--out", "results"]
        state.conf.memory_seed_loaders[f"{PREFIX}{suite}-{budget}"].append(
            MemoryLoader(
                description=f"run {suite} under the budget {budget} and write its leaderboard",
                skip_install=True,
                deps=PythonDeps("", ROOT),
                dependency_groups=set(),
                allowlist_externals=[uqbench],
                set_env={"OMP_NUM_THREADS": "1", "MKL_CBWR": "AVX2"},
                commands_pre=[Command(install)],
                commands=[
                    Command([uqbench, "run", *what, *(state.conf.pos_args(None) or ())]),
                    Command([uqbench, "leaderboard", *what, "--to", "leaderboards"]),
                ],
            )
        )
