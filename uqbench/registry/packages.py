"""Commands and modules of uqbench that other packages bring, by entry point.

The group ``uqbench.commands`` gives click's command by its name, ``uqbench.modules`` the module
that ``uqbench.NAME`` is. Nothing is imported before it is asked for.
"""

from importlib import metadata

from uqbench.contract.errors import UqbenchError

COMMANDS, MODULES = "uqbench.commands", "uqbench.modules"
PACKAGES = {
    COMMANDS: {
        "plot": "uqbench-report",
        "report": "uqbench-report",
        "submit": "uqbench-keeper",
        "verify": "uqbench-keeper",
        "plugin": "uqbench-testing",
    },
    MODULES: {"plots": "uqbench-report", "report": "uqbench-report", "testing": "uqbench-testing"},
}
"""Packages to install, by group and name."""


def brought(group: str) -> dict[str, metadata.EntryPoint]:
    """Entry points of the installed packages, by name.

    Args:
        group: :data:`COMMANDS` or :data:`MODULES`.
    """
    return {one.name: one for one in metadata.entry_points(group=group)}


def can_report() -> bool:
    """Whether a report can be written: its package is installed, and the libraries that draw."""
    report = brought(MODULES).get("report")
    return report is not None and bool(report.load().can_report())


def missing(group: str, name: str) -> UqbenchError:
    """The error of a command or module whose package is not installed: says which to install."""
    package = PACKAGES[group][name]
    what = f"uqbench {name}" if group == COMMANDS else f"uqbench.{name}"
    return UqbenchError(f"{what} is in the package {package}: python -m pip install {package}")
