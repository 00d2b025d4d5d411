"""What a command is about: ``FILE[:CLASS]``, ``DISTRIBUTION:NAME``, or a name."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from uqbench.contract.errors import unknown
from uqbench.registry import local
from uqbench.registry.plugins import Host


def is_file(what: str) -> bool:
    """Whether it names a Python file, or a class of one."""
    return what.partition(":")[0].endswith(".py")


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
