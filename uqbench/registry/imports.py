"""Importing plugins, which may hang, or end the process: the one that does it gets a name.

While a plugin is imported, a file in the user's cache says so
(``$XDG_CACHE_HOME/uqbench/importing/``, named by distribution and content). A file that is there
and that no living process has locked is of a process that ended meanwhile. It may have been killed,
by the kernel on a machine without memory, so that the plugin is tried once more, and said; after
two such ends in a row it is left out. Workers import what the command has imported before, and are
killed for many reasons: they leave no file.
"""

from __future__ import annotations

import fcntl
import os
import platform
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from uqbench.hookspecs import ENTRY_POINT_GROUP
from uqbench.identity import digest_of
from uqbench.registry.classes import added
from uqbench.registry.contents import content_hash, package_of

HANG_SECONDS = 10.0
"""After which it is said that a plugin is still being imported."""
ENDS = 2
"""Processes in a row that ended while they imported a plugin which is then left out."""

EntryPoint = tuple[metadata.Distribution, metadata.EntryPoint]


def load(distribution: metadata.Distribution, entry_point: metadata.EntryPoint) -> object:
    """Import a plugin.

    Raises:
        ImportError: the last processes that imported it ended meanwhile.
        Exception: whatever its import raises.
    """
    if entry_point.group != ENTRY_POINT_GROUP:
        return added(entry_point)
    who = f"the plugin {entry_point.name!r} of {distribution.name} {distribution.version}"
    late = threading.Timer(HANG_SECONDS, _say, [
        f"{who} has been importing for {HANG_SECONDS:.0f} s; if it hangs, press Ctrl-C, and name "
        f"the plugins to load without it in UQBENCH_PLUGINS"
    ])  # fmt: skip
    late.daemon = True
    late.start()
    try:
        with _marked(_file(distribution, entry_point), who):
            return entry_point.load()
    finally:
        late.cancel()


@contextmanager
def _marked(path: Path | None, who: str) -> Iterator[None]:
    """Hold a file with a byte for this process, and for each that ended before in this place."""
    try:
        descriptor = -1 if path is None else _locked(path)
    except OSError:
        descriptor = -1  # a home that cannot be written, or another process that imports it now
    if path is None or descriptor < 0:
        yield
        return
    try:
        ends = os.fstat(descriptor).st_size
        if ends >= ENDS:
            raise ImportError(
                f"the last {ends} processes that imported it ended, or were killed, meanwhile; "
                f"remove {path} to try it again"
            )
        if ends:
            _say(f"{who}: the last process that imported it ended meanwhile; it is tried once more")
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


def _file(distribution: metadata.Distribution, entry_point: metadata.EntryPoint) -> Path | None:
    """The file of a plugin; None where none is needed, or there is nothing to import."""
    processes = sys.modules.get("multiprocessing")
    if distribution.name == "uqbench" or (processes and processes.parent_process()):
        return None
    try:
        content = content_hash(package_of(entry_point.module))
        home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    except (ImportError, OSError, ValueError, RuntimeError):
        return None
    key = digest_of([platform.python_version(), distribution.version, entry_point.value, content])
    return Path(home) / "uqbench" / "importing" / f"{distribution.name}-{key[:16]}"


def _say(text: str) -> None:
    print(f"uqbench: {text}", file=sys.stderr, flush=True)
