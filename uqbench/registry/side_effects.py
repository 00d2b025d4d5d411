"""Global defaults that importing a plugin must not change: detected, named and restored.

States are read as values that ``==`` compares.
"""

import pickle
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Getter = Callable[[], Any]
Setter = Callable[[Any], object]


@contextmanager
def watched(changed: list[str]) -> Iterator[None]:
    """Add to ``changed`` the defaults that were changed inside, and restore them.

    Imports nothing: a library that was not imported before has no state to change.
    """
    before = [(name, get, set_, get()) for name, get, set_ in _defaults()]
    try:
        yield
    finally:
        for name, get, set_, value in before:
            if get() != value:
                changed.append(name)
                set_(value)


def _defaults() -> Iterator[tuple[str, Getter, Setter]]:
    yield "Python's random state", random.getstate, random.setstate
    if numpy := sys.modules.get("numpy"):
        yield (
            "numpy's random state",
            lambda: pickle.dumps(numpy.random.get_state()),
            lambda state: numpy.random.set_state(pickle.loads(state)),
        )
    if torch := sys.modules.get("torch"):
        yield "torch's default dtype", torch.get_default_dtype, torch.set_default_dtype
        yield "torch's gradient mode", torch.is_grad_enabled, torch.set_grad_enabled
        yield "torch's number of threads", torch.get_num_threads, torch.set_num_threads
        yield (
            "torch's random state",
            lambda: torch.get_rng_state().tolist(),
            lambda state: torch.set_rng_state(torch.tensor(state, dtype=torch.uint8)),
        )
