"""The defaults of a process that a plugin can change: compared, named and restored.

``watched`` is for an import: a module changes what it changes once. ``Surroundings`` is for those
that take turns in one process: each finds it as it was, and has in its own turns what it changed.
Whatever cannot be read back, such as a function that was replaced in another module, is not seen.

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
from collections.abc import Callable, Hashable, Iterator
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
        set: sets it to a value that was read.
        fresh: as its library comes, which may be imported later; None where that varies.
    """

    name: str
    get: Callable[[], Any]
    set: Callable[[Any], object]
    fresh: Any = None

    def value(self) -> Any:
        """The state, or why it cannot be read: torch refuses where its two APIs were mixed."""
        try:
            return self.get()
        except Exception as error:  # whatever a plugin left there
            return repr(error)

    def restore(self, value: Any) -> None:
        """Set it again, as far as it can be."""
        with suppress(Exception):  # the folder may be gone
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


class Surroundings:
    """The process as it is now, for those that take turns in it.

    After each turn the defaults of arithmetic and of printing are put back, and what was changed is
    kept for the next turn of the same one. After its last turn all others are put back, too.
    """

    def __init__(self) -> None:
        self._turn = [(state, state.value()) for state in (*_numeric(), *_printing())]
        self._last = [(state, state.value()) for state in _process()]
        self._random = [(state, state.value()) for state in _random()]
        self._modules = len(sys.modules)
        self._own: dict[Hashable, list[tuple[State, Any]]] = {}
        self._changed: dict[Hashable, dict[str, None]] = {}

    def begin(self, who: Hashable) -> None:
        """Give one what it changed in its earlier turns."""
        for state, value in self._own.pop(who, ()):
            state.restore(value)

    def end(self, who: Hashable, *, last: bool) -> None:
        """Put back what one changed in its turn.

        Args:
            who: had the turn.
            last: whether it has no other.
        """
        if last or self._differs():
            changed = self._put_back(who, self._turn)
            if last:
                self._put_back(who, self._last)
            elif changed:
                self._own[who] = changed

    def changed(self, who: Hashable) -> list[str]:
        """The names of what one changed since this was last asked."""
        return list(self._changed.pop(who, ()))

    def end_all(self) -> None:
        """Put the global random numbers back: to draw some is no change of a default."""
        for state, found in self._random:
            state.restore(found)

    def _differs(self) -> bool:
        """Whether a turn changed anything: all that is done after most of them."""
        try:
            return any(state.get() != found for state, found in self._turn)
        except Exception:  # as in State.value
            return True

    def _put_back(self, who: Hashable, states: list[tuple[State, Any]]) -> list[tuple[State, Any]]:
        """Restore what differs; returns it as it was left."""
        changed, imported = [], len(sys.modules) > self._modules
        for i, (state, found) in enumerate(states):
            now = state.value()
            if imported and state.name == VARIABLES:  # a library sets its own once
                found = now | found
            if now != found:
                state.restore(found)
                states[i] = state, state.value()  # a stream that was closed is another
                changed.append((state, now))
                if not (imported and state.name == FILTERS):  # as many libraries do
                    self._changed.setdefault(who, {})[state.name] = None
        return changed


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


def _printing() -> Iterator[State]:
    yield State("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit)
    yield State(FILTERS, lambda: list(warnings.filters), _set_filters)
    for descriptor, name in enumerate(("stdout", "stderr"), 1):
        yield State(f"sys.{name}", partial(_stream, name), partial(_set_stream, name, descriptor))


def _set_filters(to: list[Any]) -> None:
    warnings.resetwarnings()  # also forgets what was shown under other filters
    warnings.filters[:] = to  # type: ignore[index]


def _stream(name: str) -> tuple[Any, bool]:
    stream = getattr(sys, name)
    return stream, getattr(stream, "closed", False)


def _set_stream(name: str, descriptor: int, to: tuple[Any, bool]) -> None:
    stream = to[0]
    if getattr(stream, "closed", False):
        stream = os.fdopen(descriptor, "w", buffering=1, closefd=False)
    setattr(sys, name, stream)


def _process() -> Iterator[State]:
    yield State(VARIABLES, lambda: dict(os.environ), _set_variables)
    yield State("the current folder", os.getcwd, os.chdir)
    set_locale = partial(locale.setlocale, locale.LC_ALL)  # without a second argument it reads
    yield State("the locale", set_locale, set_locale)
    yield State(
        "an alarm", lambda: signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        lambda set_: set_ or signal.setitimer(signal.ITIMER_REAL, 0),
    )  # fmt: skip
    for number in SIGNALS:
        if signal.getsignal(number) is not None:  # else it is not Python's
            name = f"the handler of {signal.Signals(number).name}"
            yield State(name, partial(signal.getsignal, number), partial(signal.signal, number))


def _set_variables(to: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(to)
