"""Trial imports of plugins in a child process, so that one that hangs or exits harms nobody.

A plugin is tried once: the outcome is remembered by the content of its package, in a cache of the
user's (``$XDG_CACHE_HOME/uqbench/imports.json``); only one that took too long is tried every time,
since the machine may have been busy. What the child cannot survive is a plugin's
failure; an ordinary exception is not: it comes again, with its reason, where the plugin is loaded.
"""

from __future__ import annotations

import json
import os
import platform
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from uqbench.identity import digest_of
from uqbench.registry.contents import content_hash, package_of

HANG_SECONDS = 10.0
"""That importing one plugin may take."""
START_SECONDS = 60.0
"""For the child itself to start."""

ENDED = "it ended the process that imported it, with"
EXITED = f"{ENDED} exit code"
"""Remembered; a signal may have come from elsewhere, such as the kernel's on a full machine."""

EntryPoint = tuple[metadata.Distribution, metadata.EntryPoint]


@dataclass(frozen=True)
class _Trial:
    """A plugin to try, and the key that its outcome is remembered under."""

    name: str
    value: str
    key: str


def failures(entry_points: Sequence[EntryPoint]) -> dict[str, str]:
    """Why plugins cannot be imported at all, by ``distribution:name``.

    Args:
        entry_points: the plugins to load; uqbench's own are not tried.
    """
    trials = [
        trial
        for distribution, entry_point in entry_points
        if distribution.name != "uqbench"
        and (trial := _trial(distribution, entry_point)) is not None
    ]
    known = _read_cache()
    untried = [trial for trial in trials if trial.key not in known]
    if untried:
        found = dict(_tried(untried))
        known |= found
        lasting = {key: why for key, why in found.items() if not why or why.startswith(EXITED)}
        _write_cache(_read_cache() | lasting)
    again = f"remove {cache_file()} to try it again"
    return {
        t.name: known[t.key] + (f" ({again})" if known[t.key].startswith(EXITED) else "")
        for t in trials
        if known[t.key]
    }


def _trial(distribution: metadata.Distribution, entry_point: metadata.EntryPoint) -> _Trial | None:
    try:
        content = content_hash(package_of(entry_point.module))
    except (ImportError, OSError, ValueError):
        return None  # there is nothing to import; loading it says why
    key = digest_of([platform.python_version(), distribution.version, entry_point.value, content])
    return _Trial(f"{distribution.name}:{entry_point.name}", entry_point.value, key)


def _tried(trials: Sequence[_Trial]) -> Iterator[tuple[str, str]]:
    """Import plugins in children, a new one after each that hangs or dies; yields key and failure.

    An empty failure is none.
    """
    waiting = list(trials)
    while waiting:
        done, reason = _try_in_child(waiting)
        yield from ((trial.key, "") for trial in waiting[:done])
        waiting = waiting[done:]
        if waiting and reason:
            yield waiting.pop(0).key, reason


def _try_in_child(trials: Sequence[_Trial]) -> tuple[int, str]:
    """How many plugins a child imported, and what went wrong with the next; empty if nothing."""
    code = (
        f"from uqbench.registry.trials import import_all; import_all({[t.value for t in trials]})"
    )
    searched = os.pathsep.join(filter(None, sys.path))  # an empty entry is the current folder
    reading, writing = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", code],  # -P: nor does it come first
        env={**os.environ, "UQBENCH_TRIAL": str(writing), "PYTHONPATH": searched},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(writing,),
        start_new_session=True,  # what it starts can be ended with it
    )
    os.close(writing)
    done, started = -1, time.monotonic()
    try:
        while True:
            patience = START_SECONDS if done < 0 else HANG_SECONDS
            ready, _, _ = select.select([reading], [], [], 0.05)
            if ready:
                news = os.read(reading, 1 << 16)
                done, started = done + len(news), time.monotonic()
                if done == len(trials):
                    return done, ""
                if not news:  # all that the child wrote has been read, and it is gone
                    return max(done, 0), f"{ENDED} {_ending(child)}"
            elif child.poll() is not None and not select.select([reading], [], [], 0)[0]:
                return max(done, 0), f"{ENDED} {_ending(child)}"  # what it started holds the pipe
            elif time.monotonic() - started > patience:
                return max(done, 0), f"importing it took more than {HANG_SECONDS:.0f} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        os.close(reading)


def _ending(child: subprocess.Popen[bytes]) -> str:
    code = child.wait()
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def import_all(values: Sequence[str]) -> None:
    """In the child: import plugins one after another; a byte at the start and after each."""
    writing = int(os.environ["UQBENCH_TRIAL"])
    os.write(writing, b".")
    for value in values:
        # any exception comes again, with its reason, where the plugin is loaded
        with suppress(Exception, SystemExit):
            metadata.EntryPoint("", value, "").load()
        os.write(writing, b".")
    os._exit(0)


def cache_file() -> Path:
    """Where outcomes are remembered."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(home) / "uqbench" / "imports.json"


def _read_cache() -> dict[str, str]:
    try:
        found = json.loads(cache_file().read_bytes())
        return {str(key): str(reason) for key, reason in found.items()}
    except (OSError, RuntimeError, ValueError, AttributeError):
        return {}  # missing or damaged: all are tried again


def _write_cache(known: dict[str, str]) -> None:
    with suppress(OSError, RuntimeError):  # without a cache, they are tried every time
        path = cache_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump(known, file, indent=1, sort_keys=True)
        Path(file.name).replace(path)
