"""uqbench: a benchmark suite for methods that know what they do not know.

From Python::

    import uqbench

    results = uqbench.run("windy-cliff", budget="smoke", seeds=3)
    results.board()

``run``, ``plan``, ``load``, ``register`` and ``Results`` are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from uqbench.hookspecs import CONTRACT, hookimpl
from uqbench.specs import AgentSpec, DatasetSpec, EnvironmentSpec, ExecutorSpec, Spec

if TYPE_CHECKING:
    from uqbench.api.load import load
    from uqbench.api.plan import Planned, plan
    from uqbench.api.register import register
    from uqbench.api.results import Results
    from uqbench.api.run import run
    from uqbench.suites.variants import grid

__version__ = "0.1.0"
__all__ = [
    "CONTRACT",
    "AgentSpec",
    "DatasetSpec",
    "EnvironmentSpec",
    "ExecutorSpec",
    "Planned",
    "Results",
    "Spec",
    "__version__",
    "grid",
    "hookimpl",
    "load",
    "plan",
    "register",
    "run",
]

_LAZY = {
    "Planned": "uqbench.api.plan",
    "Results": "uqbench.api.results",
    "grid": "uqbench.suites.variants",
    "load": "uqbench.api.load",
    "plan": "uqbench.api.plan",
    "register": "uqbench.api.register",
    "run": "uqbench.api.run",
}
"""Modules by the name that they define."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_LAZY[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
