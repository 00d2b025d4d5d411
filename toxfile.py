"""Tox environments ``leaderboard-SUITE-BUDGET`` of all suites in this repository.

They share one installation. It is made where tox has no uqbench, as in a fresh clone.
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
ROWS = ("--methods", "--agents", "--seeds", "--tasks", "--set")
"""Arguments of ``run`` that say which rows a board has."""


def boards() -> dict[str, tuple[str, str]]:
    """Suite and budget by the environment's name, of every suite file."""
    made = {}
    for path in sorted(ROOT.glob("plugins/*/src/**/*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        if isinstance(table.get("name"), str):
            for budget in table.get("budgets", {}):
                made[f"leaderboard-{table['name']}-{budget}"] = table["name"], budget
    return made


@impl
def tox_extend_envs() -> Iterator[str]:
    """Their names."""
    return iter(boards())


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """What they do: share one installation, run a suite, write its board."""
    shared = core_conf["work_dir"] / "leaderboards"
    install = [str(ROOT / "tools" / "shared_environment.py"), str(shared), "requirements.txt"]
    uqbench = str(shared / "bin" / "uqbench")
    more = list(state.conf.pos_args(None) or ())
    rows = [text for at, key in enumerate(more) if key in ROWS for text in more[at : at + 2]]
    for name, (suite, budget) in boards().items():
        which = ["--suite", suite, "--budget", budget, "--out", "results"]
        environment = MemoryLoader(
            description=f"run {suite} under the budget {budget} and write its leaderboard",
            set_env={"OMP_NUM_THREADS": "1", "MKL_CBWR": "AVX2"},  # bit-identical runs
            skip_install=True,
            deps=PythonDeps("", ROOT),
            dependency_groups=set(),
            allowlist_externals=[uqbench],
            commands_pre=[Command(["python", *install])],
            commands=[
                Command([uqbench, "run", *which, *more]),
                Command([uqbench, "leaderboard", *which, "--to", "leaderboards", *rows]),
            ],
        )
        state.conf.memory_seed_loaders[name].append(environment)
