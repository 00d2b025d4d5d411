"""The subject of a command: ``FILE[:CLASS]``, ``DISTRIBUTION:NAME``, or a name."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from uqbench.contract.errors import UqbenchError, unknown
from uqbench.registry import local
from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin


def is_file(what: str) -> bool:
    """Whether it names a Python file, or a class of one."""
    return what.partition(":")[0].endswith(".py")


def plugins_of(host: Host, what: str) -> list[Plugin]:
    """The plugins that a name is of: a plugin's, its distribution's, or ``DISTRIBUTION:NAME``.

    Raises:
        UqbenchError: there is none; says the nearest.
    """
    called = what.rpartition(":")[0] or what
    if not (plugins := [p for p in host.plugins if called in (p.name, p.distribution)]):
        error = unknown("plugin", what, [p.name for p in host.plugins])
        here = f" The folder {called} is here: pip install -e {called}, first."
        raise UqbenchError(f"{error}{here * Path(called, 'pyproject.toml').is_file()}")
    return plugins


def add(what: str, suites: Iterable[str] = (), **settings: Any) -> tuple[str, str]:
    """Let the class of a file, or an installed agent or estimator, join suites.

    Returns:
        Its name there, and its kind.

    Raises:
        UqbenchError: there is no such thing.
    """
    if is_file(what):
        path, _, attribute = what.partition(":")
        return local.add_class(Path(path), attribute or None, suites, **settings)
    host = Host.load()
    for registry in (host.agents, host.estimators):
        if what in registry:
            name, kind = what.rpartition(":")[2], registry.kind
            local.join(local.LocalPlugin(name), kind, suites, settings, entry=what)
            return name, kind
    raise unknown("agent or estimator", what, [*host.agents, *host.estimators])
