"""uqbench: a benchmark suite for methods that know what they do not know.

From Python::

    import uqbench

    results = uqbench.run("windy-cliff", budget="smoke", seeds=3)
    results.board()

``uqbench.profile("mine.py:Mine")`` draws what a method's uncertainty is good for; it is in the
package uqbench-profile. Each command is a function: ``uqbench.leaderboard``, ``judge_claims`` and
so on; rows for the boards of others are made in :mod:`uqbench_keeper.api`. All is imported when it
is first used.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
from typing import TYPE_CHECKING, Any

from uqbench.contract.figure import Figure
from uqbench.contract.hookspecs import CONTRACT, hookimpl
from uqbench.contract.specs import (
    AgentSpec,
    DatasetSpec,
    EnvironmentSpec,
    EstimatorSpec,
    ExecutorSpec,
    ScoreSpec,
    Spec,
)
from uqbench.contract.version import __version__

if sys.platform == "win32":
    raise ImportError("uqbench runs on Linux and macOS; on Windows use it in WSL (wsl --install).")
if TYPE_CHECKING:
    from uqbench_claims.api import judge_claims, verdicts
    from uqbench_compare.compare import Compared, compare
    from uqbench_compare.predictions.score import score
    from uqbench_leaderboard.api import check_leaderboard, leaderboard, rewrite_leaderboard
    from uqbench_predictive.tables import TableDataset, table_options, table_suite
    from uqbench_record.record import evaluate, record
    from uqbench_report.report import write_report

    from uqbench.api.listing import list_agents, list_budgets, list_methods, list_suites
    from uqbench.api.load import load
    from uqbench.api.options import Options
    from uqbench.api.plan import Planned
    from uqbench.api.results import Results
    from uqbench.api.run import plan, run
    from uqbench.api.status import status
    from uqbench.suites.variants import grid

__all__ = [
    "CONTRACT", "AgentSpec", "Compared", "DatasetSpec", "EnvironmentSpec", "EstimatorSpec",
    "ExecutorSpec", "Options", "Planned", "Results", "ScoreSpec", "Spec", "TableDataset",
    "__version__", "check_leaderboard", "compare", "evaluate", "grid", "hookimpl", "judge_claims",
    "leaderboard", "list_agents", "list_budgets", "list_methods", "list_suites", "load", "plan",
    "record", "rewrite_leaderboard", "run", "score", "status", "table_options", "table_suite",
    "verdicts", "write_report",
]  # fmt: skip

_LAZY = {
    name: module
    for module, names in {
        "uqbench_claims.api": ("judge_claims", "verdicts"),
        "uqbench_compare.compare": ("Compared", "compare"),
        "uqbench_compare.predictions.score": ("score",),
        "uqbench_leaderboard.api": ("check_leaderboard", "leaderboard", "rewrite_leaderboard"),
        "uqbench_predictive.tables": ("TableDataset", "table_options", "table_suite"),
        "uqbench_profile.profile": ("profile",),
        "uqbench_record.record": ("evaluate", "record"),
        "uqbench_report.report": ("write_report",),
        "uqbench.api.listing": ("list_agents", "list_budgets", "list_methods", "list_suites"),
        "uqbench.api.load": ("load",),
        "uqbench.api.options": ("Options",),
        "uqbench.api.plan": ("Planned",),
        "uqbench.api.results": ("Results",),
        "uqbench.api.run": ("plan", "run"),
        "uqbench.api.status": ("status",),
        "uqbench.suites.variants": ("grid",),
    }.items()
    for name in names
}
"""Modules by the name that they define."""

IMPORT_NAMES = {
    **dict.fromkeys(
        (
            "agent", "board_table", "claim", "config", "environment", "errors", "estimator",
            "executor", "figure", "hookspecs", "identity", "pictures", "queries", "risk", "seeding",
            "side_by_side", "specs", "truth", "updates", "version", "wording",
        ),
        "contract",
    ),
    "adapters": "lanes",
    "builtin": "registry",
}  # fmt: skip
"""Rooms by the name of what plugins import from here: ``uqbench.agent`` is the module
``uqbench.contract.agent``. So plugins need not know where a module lives."""

TOOLKIT = "lanes.toolkit"
BROUGHT = ("kernels", TOOLKIT, "plots", "report", "testing")
"""Import names of modules that other packages bring (:mod:`uqbench.registry.packages`)."""
OWN_LANES = ("", "adapters", "clock", "execution", "random")
"""Modules of ``uqbench.lanes`` itself; all others are beside the :data:`TOOLKIT`."""


class _ImportNames(MetaPathFinder, Loader):
    """Finds the modules of :data:`IMPORT_NAMES`, and what is in them, under their short names.

    So it finds what other packages bring, ``uqbench.testing`` and ``uqbench.plots``. Both names are
    one module: a class is the same by either.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, _, rest = fullname.partition(".")
        own = _own_name(rest) if top == __name__ else None
        return spec_from_loader(fullname, self, origin=own) if own else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(str(spec.origin))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module, which has been executed, its own specification back."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def _own_name(name: str) -> str | None:
    """The module's own name, by the short one behind ``uqbench.``; None where it has no short one.

    Raises:
        ModuleNotFoundError: the package that brings it is not installed; says which it is.
    """
    first, dot, rest = name.partition(".")
    if first == "lanes" and rest.partition(".")[0] not in OWN_LANES:
        first = TOOLKIT
    if first in IMPORT_NAMES:
        return f"{__name__}.{IMPORT_NAMES[first]}.{name}"
    if first not in BROUGHT:
        return None
    from uqbench.registry.packages import MODULES, brought, missing

    if (module := brought(MODULES).get(first)) is None:
        raise ModuleNotFoundError(str(missing(MODULES, first)), name=f"{__name__}.{first}")
    if first == TOOLKIT:
        own = f"{module.value.partition('.')[0]}.{rest}"
        return own if find_spec(own) else None
    return f"{module.value}{dot}{rest}"


def _draw(figure: Figure) -> str:
    """A figure as SVG, for a notebook; what draws is imported with the first one."""
    from uqbench.plots.render import svg

    drawn: str = svg(figure)
    return drawn


sys.meta_path.insert(0, _ImportNames())
Figure.draw = staticmethod(_draw)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(_LAZY[name]), name)
    except ModuleNotFoundError as error:
        from uqbench.registry.packages import lacking

        raise lacking(error, f"uqbench.{name}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
