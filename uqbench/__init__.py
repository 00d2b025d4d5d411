"""uqbench: a benchmark suite for methods that know what they do not know.

From Python::

    import uqbench

    results = uqbench.run("windy-cliff", budget="smoke", seeds=3)
    results.board()

``uqbench.profile("mine.py:Mine")`` draws what a method's uncertainty is good for; it is in the
package uqbench-profile. What the other commands do with runs (boards, verdicts, verification,
submissions) are methods of an :class:`~uqbench.api.experiment.Experiment`. All is imported when it
is first used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from uqbench.hookspecs import CONTRACT, hookimpl
from uqbench.specs import (
    AgentSpec,
    DatasetSpec,
    EnvironmentSpec,
    EstimatorSpec,
    ExecutorSpec,
    ScoreSpec,
    Spec,
)
from uqbench.version import __version__

if TYPE_CHECKING:
    from uqbench.api.experiment import Experiment
    from uqbench.api.listing import list_agents, list_budgets, list_methods, list_suites
    from uqbench.api.load import load
    from uqbench.api.options import Options
    from uqbench.api.plan import Planned
    from uqbench.api.report import write_report
    from uqbench.api.results import Results
    from uqbench.api.run import plan, run
    from uqbench.api.status import status
    from uqbench.suites.variants import grid

__all__ = [
    "CONTRACT", "AgentSpec", "DatasetSpec", "EnvironmentSpec", "EstimatorSpec", "ExecutorSpec",
    "Experiment", "Options", "Planned", "Results", "ScoreSpec", "Spec", "__version__", "grid",
    "hookimpl", "list_agents", "list_budgets", "list_methods", "list_suites", "load", "plan",
    "run", "status", "write_report",
]  # fmt: skip

_LAZY = {"profile": "uqbench_profile.profile"} | {
    name: f"uqbench.{module}"
    for module, names in {
        "api.experiment": ("Experiment",),
        "api.listing": ("list_agents", "list_budgets", "list_methods", "list_suites"),
        "api.load": ("load",),
        "api.options": ("Options",),
        "api.plan": ("Planned",),
        "api.report": ("write_report",),
        "api.results": ("Results",),
        "api.run": ("plan", "run"),
        "api.status": ("status",),
        "suites.variants": ("grid",),
    }.items()
    for name in names
}
"""Modules by the name that they define."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "profile" and find_spec("uqbench_profile") is None:
        raise ImportError("uqbench.profile needs the package uqbench-profile: install it.")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
