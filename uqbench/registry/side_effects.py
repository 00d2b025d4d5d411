"""The defaults of a process that a plugin can change: compared, and named.

``watched`` is for loading a plugin, which the user's own process does, too, and nobody can replace
that one: what the import changed of arithmetic is put back. ``Surroundings`` tells whether a
process that computed is another one than it was; then it is replaced. Whatever cannot be read, such
as a function that was replaced in a module that is not compared, is not seen.
"""

import locale
import os
import pickle
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

VARIABLES, FILTERS = "environment variables", "the warnings filters"
PLAIN = (int, float, complex, str, bytes, list, dict, set, tuple, type(None))


@contextmanager
def watched(changed: list[str]) -> Iterator[None]:
    """Add to ``changed`` what code inside changed: arithmetic, put back, and random states.

    Imports nothing: what is imported inside had the defaults with which it comes.
    """
    before = {name: _tried(get) for name, get, *_ in _defaults()}
    try:
        yield
    finally:
        for name, get, put, fresh in _defaults():
            if (found := before.get(name, fresh)) not in (None, _tried(get)):
                changed.append(name)
                _tried(put, found)  # as far as it can be


def arithmetic() -> dict[str, Any]:
    """The defaults of arithmetic, by name: cheap enough to ask after each step."""
    return {name: _tried(get) for name, get, put, _ in _defaults() if put is not _stay}


class Surroundings:
    """The process as it is now, to be compared with what it is later.

    Args:
        numbers: the defaults of arithmetic, as they were before anything was imported.
        things: classes and modules, whose plain values are compared, too.
    """

    def __init__(self, numbers: dict[str, Any], things: Iterable[object]) -> None:
        self._things, self._modules = [*things], set(sys.modules)
        self._before = [numbers, _process(), *map(held, self._things)]

    def changed(self) -> list[str]:
        """Names of all defaults that differ, but for what libraries set as they are imported."""
        had, now = self._before[1], [arithmetic(), _process(), *map(held, self._things)]
        if new := sys.modules.keys() - self._modules:  # what was added, once
            # a compiler sets the recursion limit, and keeps threads
            also = [FILTERS, *["the recursion limit", "its threads"] * ("torch._inductor" in new)]
            had |= {VARIABLES: now[1][VARIABLES] | had[VARIABLES], **{n: now[1][n] for n in also}}
        pairs = zip(self._before, now, strict=True)
        return list(dict.fromkeys(n for a, b in pairs for n in a | b if a.get(n) != b.get(n)))


def held(thing: object) -> dict[str, Any]:
    """Plain values, arrays and functions (which may be replaced) of a class or a module."""
    return {
        f"{getattr(owner, '__name__', 'it')}.{name}": _tried(id if f else pickle.dumps, value)
        for owner in getattr(thing, "__mro__", (thing,))
        for name, value in getattr(owner, "__dict__", {}).items()
        if (f := callable(value)) or isinstance(value, PLAIN) or hasattr(value, "itemsize")
        if not name.startswith(("__", "manual_seed", "Storage"))  # torch sets these itself
    }


def _tried(call: Callable[..., Any], *given: object) -> Any:
    """A call's result, or its error's kind: torch refuses where its two APIs were mixed."""
    try:
        return call(*given)
    except Exception as error:  # whatever a plugin left there
        return type(error)


def _process() -> dict[str, Any]:
    """Defaults that are not those of arithmetic, by name."""
    handlers = {f"the handler of {n.name}": signal.getsignal(n) for n in signal.Signals}
    return handlers | {
        "the recursion limit": sys.getrecursionlimit(),
        FILTERS: list(warnings.filters),
        "sys.stdout": (sys.stdout, getattr(sys.stdout, "closed", False)),
        "sys.stderr": (sys.stderr, getattr(sys.stderr, "closed", False)),
        VARIABLES: dict(os.environ),
        "the current folder": _tried(os.getcwd),
        "the locale": locale.setlocale(locale.LC_ALL),
        "its threads": {t for t in threading.enumerate() if not t.name.startswith("draws")},
        "an alarm": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
    }


def _stay(found: object) -> None:
    """Random states are not put back: a group of runs begins with its own."""


def _defaults() -> Iterator[tuple[str, Callable[[], Any], Callable[[Any], object], Any]]:
    """The defaults of libraries that have been imported: name, what reads and what sets it.

    The last is the value with which its library, which may be imported later, comes; None where
    that varies.
    """
    yield "Python's random state", random.getstate, _stay, None
    if numpy := sys.modules.get("numpy"):
        fresh = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
        yield "numpy's errors", numpy.geterr, lambda to: numpy.seterr(**to), fresh
        yield "numpy's random state", lambda: pickle.dumps(numpy.random.get_state()), _stay, None
    if not (torch := sys.modules.get("torch")):
        return
    cpu, mkl, cudnn = torch.device("cpu"), torch.backends.mkldnn, torch.backends.cudnn
    yield from [
        ("torch's random state", lambda: bytes(torch.get_rng_state().numpy()), _stay, None),
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
        ("oneDNN", lambda: mkl.enabled, lambda on: setattr(mkl, "enabled", on), True),
        ("cuDNN's flags", lambda: (cudnn.benchmark, cudnn.deterministic),
         lambda to: cudnn.set_flags(_benchmark=to[0], _deterministic=to[1]), (False, False)),
        ("denormal numbers", lambda: sys.float_info.min / 2 > 0,
         lambda kept: torch.set_flush_denormal(not kept), True),
    ]  # fmt: skip
