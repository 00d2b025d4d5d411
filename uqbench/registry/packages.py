"""Commands, modules and drivers of uqbench that other packages bring, by entry point.

The group ``uqbench.commands`` gives click's command by its name, ``uqbench.modules`` the module
that ``uqbench.NAME`` is, ``uqbench.drivers`` the driver of ``orders`` (``uqbench.runner.drive``)
and the sentences on their ``jobs`` (``uqbench.api.status``). Nothing is imported before it is asked
for.
"""

from importlib import metadata
from shlex import quote
from typing import TypeGuard

from uqbench.contract import errors
from uqbench.contract.errors import UqbenchError

COMMANDS, MODULES, DRIVERS = "uqbench.commands", "uqbench.modules", "uqbench.drivers"
PACKAGES = {
    COMMANDS: {
        "claims": "uqbench-claims", "cite": "uqbench-claims", "compare": "uqbench-compare",
        "demo": "uqbench-tabular",
        "score": "uqbench-compare", "leaderboard": "uqbench-leaderboard",
        "plot": "uqbench-report", "report": "uqbench-report", "submit": "uqbench-keeper",
        "verify": "uqbench-keeper", "plugin": "uqbench-testing", "tune": "uqbench-leaderboard",
    },
    MODULES: {
        "against": "uqbench-claims", "agents": "uqbench-record", "kernels": "uqbench-lanes",
        "lanes.toolkit": "uqbench-lanes", "plots": "uqbench-report", "report": "uqbench-report",
        "testing": "uqbench-testing",
    },
    DRIVERS: {
        "orders": "uqbench-cluster", "slurm": "uqbench-cluster", "ray": "uqbench-cluster[ray]",
    },
}  # fmt: skip
"""Packages to install, by group and name."""
_SAID = {COMMANDS: "uqbench {}", MODULES: "uqbench.{}", DRIVERS: "the driver of {}"}


def brought(group: str) -> dict[str, metadata.EntryPoint]:
    """Entry points of the installed packages, by name.

    Args:
        group: :data:`COMMANDS`, :data:`MODULES` or :data:`DRIVERS`.
    """
    return {one.name: one for one in metadata.entry_points(group=group)}


TRAINS = "python -m pip install 'uqbench[rl]' (reinforcement learning) or 'uqbench[predictive]'"


def lacking(error: ModuleNotFoundError, what: str = "this") -> UqbenchError:
    """The error of a module that an extra or a package brings: says which.

    Args:
        error: that was raised for want of it.
        what: needs it.

    Raises:
        ModuleNotFoundError: neither brings it.
    """
    name = str(error.name)
    if not is_extra(error) and not name.startswith("uqbench_"):
        raise error
    own = f"python -m pip install {name.replace('_', '-')}"
    install = TRAINS if name in ("torch", "numba") else own
    return UqbenchError(f"{what} needs {name}, which is not installed: {install}")


def is_extra(error: BaseException) -> TypeGuard[ModuleNotFoundError]:
    """Whether an error says that an extra is not installed."""
    return isinstance(error, ModuleNotFoundError) and error.name in ("torch", "numba", "pyarrow")


def naming_extra(error: BaseException) -> str:
    """An error in words; of a module of an extra the words name the extra."""
    return str(lacking(error, "it")) if is_extra(error) else errors.in_words(error)


def can_report() -> bool:
    """Whether a report can be written: its package is installed."""
    return "report" in brought(MODULES)


def missing(group: str, name: str) -> UqbenchError:
    """The error of a name whose package is not installed: says which to install."""
    package, what = PACKAGES[group][name], _SAID[group].format(name)
    asked = f"uqbench[{package[8:]}]" if package[8:] in ("report", "testing") else package
    return UqbenchError(f"{what} is in the package {package}: python -m pip install {quote(asked)}")
