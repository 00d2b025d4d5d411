"""The defaults of a process that a plugin can change: compared, and named.

``watched`` is for loading a plugin, which the user's own process does, too, and nobody can replace
that one: what the import changed of arithmetic is put back. ``Surroundings`` tells whether a
process that computed is another one than it was; then it is replaced. Whatever cannot be read, such
as a function that was replaced in another module, is not seen.
"""

import locale
import os
import pickle
import random
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

TINY = 5e-324
"""The smallest number there is: zero for a processor that flushes denormal numbers."""
VARIABLES, FILTERS = "environment variables", "the warnings filters"
PLAIN = (int, float, complex, str, bytes, list, dict, set, tuple, type(None))
"""Types of what a class or module holds that is compared, beside arrays."""
State = tuple[str, Callable[[], Any], Callable[[Any], object], Any]
"""A default of arithmetic: its name, what reads it and what sets it, and the value that its
library, which may be imported later, comes with; None where that varies."""


@contextmanager
def watched(changed: list[str]) -> Iterator[None]:
    """Add to ``changed`` what code inside changed: arithmetic, put back, and random states.

    Imports nothing: what is imported inside had the defaults with which it comes.
    """
    before, drawn = {name: _read(get) for name, get, *_ in _numeric()}, _random()
    try:
        yield
    finally:
        for name, get, put, fresh in _numeric():
            found = before.get(name, fresh)
            if found is not None and _read(get) != found:
                changed.append(name)
                with suppress(Exception):  # as far as it can be
                    put(found)
        changed += [name for name, now in _random().items() if drawn.get(name, now) != now]


def held(thing: object) -> dict[str, bytes]:
    """The plain values and arrays that a class, with those it derives from, or a module has."""
    found = {}
    for owner in getattr(thing, "__mro__", (thing,)):
        own = getattr(owner, "__name__", "it")
        for name, value in getattr(owner, "__dict__", {}).items():
            if not name.startswith("__") and (isinstance(value, PLAIN) or hasattr(value, "dtype")):
                with suppress(Exception):  # one that cannot be read is not seen
                    found[f"{own}.{name}"] = pickle.dumps(value)
    return found


class Surroundings:
    """The process as it is now, to be compared with what it is later."""

    def __init__(self) -> None:
        self._numeric = [(name, get, _read(get)) for name, get, *_ in _numeric()]
        self.hold(())

    def hold(self, things: Iterable[object]) -> None:
        """Compare the plain values of classes and modules, too; all but arithmetic as it is now."""
        self._held = [(thing, held(thing)) for thing in things]
        self._process, self._modules = _process(), len(sys.modules)

    def numbers_change(self) -> list[str]:
        """Names of the defaults of arithmetic that differ: cheap enough to ask after each step."""
        return [name for name, get, found in self._numeric if _read(get) != found]

    def changed(self) -> list[str]:
        """Names of all defaults that differ, but for what libraries set as they are imported."""
        names, now, before = self.numbers_change(), _process(), self._process
        if len(sys.modules) > self._modules:  # what was added, once
            added = {VARIABLES: now[VARIABLES] | before[VARIABLES], FILTERS: now[FILTERS]}
            before = before | added
        names += [name for name, found in before.items() if now[name] != found]
        for thing, had in self._held:
            has = held(thing)
            names += [name for name in had | has if had.get(name) != has.get(name)]
        return list(dict.fromkeys(names))


def _read(get: Callable[[], Any]) -> Any:
    """A default, or why it cannot be read: torch refuses where its two APIs were mixed."""
    try:
        return get()
    except Exception as error:  # whatever a plugin left there
        return repr(error)


def _random() -> dict[str, object]:
    """The states of global random numbers, by name."""
    found: dict[str, object] = {"Python's random state": random.getstate()}
    if numpy := sys.modules.get("numpy"):
        found["numpy's random state"] = pickle.dumps(numpy.random.get_state())
    if torch := sys.modules.get("torch"):
        found["torch's random state"] = bytes(torch.get_rng_state().numpy())
    return found


def _process() -> dict[str, Any]:
    """Defaults that are not those of arithmetic, by name."""
    handlers = {f"the handler of {n.name}": signal.getsignal(n) for n in signal.Signals}
    return handlers | {
        "the recursion limit": sys.getrecursionlimit(),
        FILTERS: list(warnings.filters),
        "sys.stdout": (sys.stdout, getattr(sys.stdout, "closed", False)),
        "sys.stderr": (sys.stderr, getattr(sys.stderr, "closed", False)),
        VARIABLES: dict(os.environ),
        "the current folder": _read(os.getcwd),
        "the locale": locale.setlocale(locale.LC_ALL),
        "an alarm": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
    }


def _numeric() -> Iterator[State]:
    """The defaults of arithmetic, of the libraries that have been imported."""
    if numpy := sys.modules.get("numpy"):
        fresh = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
        yield "numpy's errors", numpy.geterr, lambda to: numpy.seterr(**to), fresh
    if not (torch := sys.modules.get("torch")):
        return
    cpu, mkldnn, cudnn = torch.device("cpu"), torch.backends.mkldnn, torch.backends.cudnn
    yield from [
        ("torch's default device", torch.get_default_device,
         lambda to: torch.set_default_device(None if to == cpu else to), cpu),
        ("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype, torch.float32),
        ("torch's gradient mode", torch.is_grad_enabled, torch.set_grad_enabled, True),
        ("torch's number of threads", torch.get_num_threads, torch.set_num_threads, None),
        ("torch's deterministic algorithms", torch.get_deterministic_debug_mode,
         torch.set_deterministic_debug_mode, 0),
        ("torch's precision of products", torch.get_float32_matmul_precision,
         torch.set_float32_matmul_precision, "highest"),
        ("torch's autocast", lambda: torch.is_autocast_enabled("cpu"),
         lambda on: torch.set_autocast_enabled("cpu", on), False),
        ("oneDNN", lambda: mkldnn.enabled, lambda on: setattr(mkldnn, "enabled", on), True),
        ("cuDNN's determinism", lambda: cudnn.deterministic,
         lambda on: setattr(cudnn, "deterministic", on), False),
        ("cuDNN's benchmarks", lambda: cudnn.benchmark,
         lambda on: setattr(cudnn, "benchmark", on), False),
        ("denormal numbers", lambda: TINY * 1.0 != 0.0,
         lambda kept: torch.set_flush_denormal(not kept), True),
    ]  # fmt: skip
