"""Tox environments ``leaderboard-SUITE-BUDGET`` of all suites in this repository.

They are those of uqbench's plugin of tox, which a fresh clone has though tox has no uqbench, and
share one installation.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tox.config.sets import ConfigSet
from tox.config.types import Command
from tox.plugin import impl
from tox.session.state import State
from tox.tox_env.python.pip.req_file import PythonDeps

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from uqbench.testing.tox_environments import PREFIX, boards, leaderboard  # noqa: E402


@impl
def tox_extend_envs() -> Iterator[str]:
    """Their names."""
    return iter([f"{PREFIX}{suite}-{budget}" for suite, budget in boards(ROOT)])


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """What they do: share one installation, run a suite, write its board."""
    shared = core_conf["work_dir"] / "leaderboards"
    install = [str(ROOT / "tools" / "shared_environment.py"), str(shared), "requirements.txt"]
    uqbench = str(shared / "bin" / "uqbench")
    more = state.conf.pos_args(None) or ()
    for suite, budget in boards(ROOT):
        environment = leaderboard(
            suite,
            budget,
            more,
            uqbench,
            skip_install=True,
            deps=PythonDeps("", ROOT),
            dependency_groups=set(),
            allowlist_externals=[uqbench],
            commands_pre=[Command(["python", *install])],
        )
        state.conf.memory_seed_loaders[f"{PREFIX}{suite}-{budget}"].append(environment)
