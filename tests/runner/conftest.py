"""A batch of the toy suite, executed up to a step, and a disk that fails."""

from collections.abc import Callable
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from toy_runs import digests, first_batch, plan_of

from uqbench.registry import Host
from uqbench.results import Store
from uqbench.runner import Batch, execute
from uqbench.runner.checkpoints import Checkpointer
from uqbench.runner.process import Stop


@pytest.fixture
def batch(host: Host) -> Batch:
    """Three seeds of a method, as lanes of one group."""
    return first_batch(plan_of(host, methods=["fast"], tasks=["long"]))


@pytest.fixture
def run(host: Host, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Execute a batch until it ends, or is asked to stop in step ``until``; what was told.

    ``at``: what happens after a step; ``saves``: the steps after which, then, a checkpoint is due.
    """

    def run(batch, store, until=0, at=MappingProxyType({}), saves=()):
        told: list[Any] = []

        def after(checkpointer: Checkpointer, step: int, state: Any) -> None:
            at.get(step, lambda: None)()
            checkpointer._due = 0.0 if step in saves else np.inf
            checkpointer.stop.asked = step == until
            original(checkpointer, step, state)

        original = Checkpointer.after
        with monkeypatch.context() as patched, suppress(SystemExit):
            patched.setattr(Checkpointer, "after", after)
            execute((batch,), store, host, told.append, checkpoint_seconds=1.0, stop=Stop())
            assert not until
        return told

    return run


ONCE: list[list[str]] = []


@pytest.fixture
def unbroken(batch, run, tmp_path_factory):
    """The digests of the uninterrupted batch, which is executed once."""
    if not ONCE:
        store = Store(tmp_path_factory.mktemp("unbroken"))
        run(batch, store)
        ONCE.append(digests(store, batch))
    return ONCE[0]
