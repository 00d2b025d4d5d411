"""All checks of a plugin, as ``uqbench plugin check`` and ``uqbench submit`` make them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch

from uqbench.registry.plugins import Host
from uqbench.runner.executors.local import ENVIRONMENT
from uqbench.testing.conformance import Result, Subject, checks_for
from uqbench.testing.conformance.subjects import subjects


def check_plugin(
    host: Host, name: str, only: str | None = None
) -> Iterator[tuple[Subject, list[Result]]]:
    """Each subject of a plugin with the results of its checks.

    In the environment of a worker: with more threads, or where MKL chooses its kernels by where in
    memory a lane's numbers lie, a lane's bits depend on the other lanes.

    Args:
        host: with the plugin.
        name: of the plugin.
        only: what is in the names of the checks, or of their subject; all of them where it is None.
    """
    os.environ.update(ENVIRONMENT)  # MKL reads it at its first product
    torch.set_num_threads(1)
    for subject in subjects(host, name):
        whole = only is None or only in subject.name
        chosen = [check for check in checks_for(subject) if whole or (only or "") in check.id]
        yield subject, [subject.result(check) for check in chosen]
        subject.memory.clear()
        for trace in ("baseline", "alone"):
            subject.__dict__.pop(trace, None)  # what is kept of a run may be large
