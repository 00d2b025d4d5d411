"""The defaults of a process that a plugin can change: compared, and named.

``watched`` is for an import, which every process makes alike: what it changed is put back.
``Surroundings`` tells whether a process that computed is another one than it was; then it is
replaced, since nobody can put everything back. Whatever cannot be read, such as a function that was
replaced in another module, is not seen.

States are read as values that ``==`` compares.
"""

import itertools
import locale
import os
import pickle
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

HANG_SECONDS = 10.0
"""After which it is said that a plugin is still being imported."""
SIGNALS = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2,
    signal.SIGCHLD, signal.SIGPIPE,
)  # fmt: skip
VARIABLES, FILTERS = "environment variables", "the warnings filters"
_TINY = 5e-324
"""The smallest number there is: zero for a processor that flushes denormal numbers."""


class State(NamedTuple):
    """A default of the process.

    Attributes:
        name: in words.
        get: reads it.
        set: sets it to a value that was read; None where nobody puts it back.
        fresh: as its library comes, which may be imported later; None where that varies.
    """

    name: str
    get: Callable[[], Any]
    set: Callable[[Any], object] | None = None
    fresh: Any = None

    def value(self) -> Any:
        """The state, or why it cannot be read: torch refuses where its two APIs were mixed."""
        try:
            return self.get()
        except Exception as error:  # whatever a plugin left there
            return repr(error)

    def restore(self, value: Any) -> None:
        """Set it again, as far as it can be."""
        if self.set is not None:
            with suppress(Exception):
                self.set(value)


@contextmanager
def watched(changed: list[str]) -> Iterator[None]:
    """Add to ``changed`` the defaults that an import changed, and restore them.

    Imports nothing: what is imported inside had the defaults with which it comes.
    """
    before = {state.name: state.value() for state in (*_numeric(), *_random())}
    try:
        yield
    finally:
        for state in (*_numeric(), *_random()):
            found = before.get(state.name, state.fresh)
            if found is not None and state.value() != found:
                changed.append(state.name)
                state.restore(found)


@contextmanager
def announced(who: str, then: str) -> Iterator[None]:
    """Say that an import takes long, once it does.

    Args:
        who: is imported.
        then: to do if it hangs.
    """
    text = f"uqbench: {who} has been importing for {HANG_SECONDS:.0f} s; if it hangs, {then}"
    late = threading.Timer(HANG_SECONDS, lambda: print(text, file=sys.stderr, flush=True))
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


PLAIN = (int, float, complex, str, bytes, list, dict, set, tuple, type(None))


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
    """The process as it is now, to be compared with what it is later.

    Args:
        things: classes and modules whose plain values are compared, too.
    """

    def __init__(self, things: Iterable[object] = ()) -> None:
        self._held = [(thing, held(thing)) for thing in things]
        self._numeric = [(state, state.value()) for state in _numeric()]
        self._others = [(state, state.value()) for state in _process()]
        self._random = [(state, state.value()) for state in _random()]
        self._modules = len(sys.modules)

    def numbers_change(self) -> list[str]:
        """Names of the defaults of arithmetic that differ: cheap enough to ask after each step."""
        return [state.name for state, found in self._numeric if state.value() != found]

    def changed(self) -> list[str]:
        """Names of all defaults that differ, but for what libraries set as they are imported."""
        imported, names = len(sys.modules) > self._modules, self.numbers_change()
        for state, found in self._others:
            now = state.value()
            if imported and state.name == VARIABLES:  # its own, once
                found = now | found
            if now != found and not (imported and state.name == FILTERS):
                names.append(state.name)
        for thing, before in self._held:
            after = held(thing)
            names += [name for name in before | after if before.get(name) != after.get(name)]
        return list(dict.fromkeys(names))

    def put_back_random(self) -> None:
        """Put the global random numbers back: to draw some is no change of a default."""
        for state, found in self._random:
            state.restore(found)


def _random() -> Iterator[State]:
    yield State("Python's random state", random.getstate, random.setstate)
    if numpy := sys.modules.get("numpy"):
        drawn = numpy.random
        yield State(
            "numpy's random state", lambda: pickle.dumps(drawn.get_state()),
            lambda to: drawn.set_state(pickle.loads(to)),
        )  # fmt: skip
    if torch := sys.modules.get("torch"):
        yield State(
            "torch's random state", lambda: bytearray(torch.get_rng_state().numpy()),
            lambda to: torch.set_rng_state(torch.frombuffer(to, dtype=torch.uint8)),
        )  # fmt: skip


def _numeric() -> Iterator[State]:
    if numpy := sys.modules.get("numpy"):
        fresh = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
        yield State("numpy's errors", numpy.geterr, lambda to: numpy.seterr(**to), fresh)
    if torch := sys.modules.get("torch"):
        yield from itertools.starmap(State, _of_torch(torch))


def _of_torch(torch: Any) -> list[tuple[Any, ...]]:
    """Settings of torch: name, getter, setter, and the value with which it comes."""
    cpu, mkldnn, cudnn = torch.device("cpu"), torch.backends.mkldnn, torch.backends.cudnn

    def deterministic() -> tuple[bool, ...]:
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        whether = torch.are_deterministic_algorithms_enabled()
        return whether, warns, cudnn.deterministic, cudnn.benchmark

    def set_deterministic(to: tuple[bool, ...]) -> None:
        torch.use_deterministic_algorithms(to[0], warn_only=to[1])
        cudnn.deterministic, cudnn.benchmark = to[2:]

    def set_device(to: Any) -> None:
        torch.set_default_device(None if to == cpu else to)

    return [
        ("torch's default device", torch.get_default_device, set_device, cpu),
        ("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype, torch.float32),
        ("torch's gradient mode", torch.is_grad_enabled, torch.set_grad_enabled, True),
        ("torch's number of threads", torch.get_num_threads, torch.set_num_threads, None),
        ("torch's deterministic algorithms", deterministic, set_deterministic, (False,) * 4),
        ("torch's precision of products", torch.get_float32_matmul_precision,
         torch.set_float32_matmul_precision, "highest"),
        ("torch's autocast", lambda: torch.is_autocast_enabled("cpu"),
         lambda on: torch.set_autocast_enabled("cpu", on), False),
        ("oneDNN", lambda: mkldnn.enabled, partial(setattr, mkldnn, "enabled"), True),
        ("denormal numbers", lambda: _TINY * 1.0 != 0.0,
         lambda kept: torch.set_flush_denormal(not kept), True),
    ]  # fmt: skip


def _process() -> Iterator[State]:
    yield State("the recursion limit", sys.getrecursionlimit)
    yield State(FILTERS, lambda: list(warnings.filters))
    yield State("sys.stdout", lambda: (sys.stdout, getattr(sys.stdout, "closed", False)))
    yield State("sys.stderr", lambda: (sys.stderr, getattr(sys.stderr, "closed", False)))
    yield State(VARIABLES, lambda: dict(os.environ))
    yield State("the current folder", os.getcwd)
    yield State("the locale", partial(locale.setlocale, locale.LC_ALL))  # reads it
    yield State("an alarm", lambda: signal.getitimer(signal.ITIMER_REAL)[0] > 0)
    for number in SIGNALS:
        name = f"the handler of {signal.Signals(number).name}"
        yield State(name, partial(signal.getsignal, number))
