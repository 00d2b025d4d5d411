"""Importing plugins, which may hang, or end the process: the one that does it gets a name.

While a plugin is imported, a file in the user's cache says so
(``$XDG_CACHE_HOME/uqbench/importing/DISTRIBUTION``). One that no living process has locked is of a
process that ended meanwhile, which the next command says; it may have been killed for another
reason, so that the plugin is imported all the same. Workers import what the command has imported
before, and are killed for many reasons: they leave no file.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path

from uqbench.contract.hookspecs import ENTRY_POINT_GROUP
from uqbench.registry.classes import added
from uqbench.registry.side_effects import announced

EntryPoint = tuple[metadata.Distribution, metadata.EntryPoint]


def load(distribution: metadata.Distribution, entry_point: metadata.EntryPoint) -> object:
    """Import a plugin.

    Raises:
        Exception: whatever its import raises.
    """
    if entry_point.group != ENTRY_POINT_GROUP:
        return added(entry_point)
    who = f"the plugin {entry_point.name!r} of {distribution.name} {distribution.version}"
    then = "press Ctrl-C, and name the plugins to load without it in UQBENCH_PLUGINS"
    with announced(who, then), _marked(distribution.name, who):
        return entry_point.load()


@contextmanager
def _marked(distribution: str, who: str) -> Iterator[None]:
    """Hold the file of a plugin, with a byte in it: it stays if the process ends meanwhile."""
    processes = sys.modules.get("multiprocessing")
    descriptor = -1
    if distribution != "uqbench" and not (processes and processes.parent_process()):
        with suppress(OSError, RuntimeError):  # no home to write, or another process imports it now
            home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
            path = home / "uqbench" / "importing" / distribution
            descriptor = _locked(path)
    if descriptor < 0:
        yield
        return
    try:
        if os.fstat(descriptor).st_size:
            _say(
                f"the last process that imported {who} ended meanwhile; if it does so again, "
                f"uninstall it, or name the plugins to load without it in UQBENCH_PLUGINS"
            )
        os.write(descriptor, b".")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _say(text: str) -> None:
    print(f"uqbench: {text}", file=sys.stderr, flush=True)
