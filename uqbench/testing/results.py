"""What became of checks: for ``uqbench plugin check`` and ``uqbench submit``."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch

from uqbench.contract.errors import UqbenchError
from uqbench.registry import named
from uqbench.registry.classes import Added, kind_of, name_of, spec_of
from uqbench.registry.load_host import load_host
from uqbench.registry.local import PREFIX
from uqbench.registry.plugins import Host
from uqbench.runner.executors.local import ENVIRONMENT
from uqbench.testing.conformance.check import Result, Subject, checks_for
from uqbench.testing.conformance.subjects import subjects

Show = Callable[[Subject, list[Result]], None]
"""Takes each subject with its results, as soon as they are there."""


def results(
    subjects: Sequence[Subject], only: str = "", show: Show = lambda _, __: None
) -> list[Result]:
    """Make the checks of subjects.

    Args:
        subjects: what is checked.
        only: part of the name of a subject or check; empty for all.
        show: takes each subject with its results.
    """
    made: list[Result] = []
    for subject in subjects:
        checks = [c for c in checks_for(subject) if only in f"{subject.name}-{c.id}"]
        own = [subject.result(check) for check in checks]
        if own:
            show(subject, own)
        subject.forget()
        made += own
    return made


def target(what: type[Any] | str) -> tuple[Host, str]:
    """The plugins, and the name by which :func:`check_plugin` finds a class or what a name says.

    Raises:
        UqbenchError: it is of no kind, or its file cannot be executed.
    """
    if isinstance(what, str):
        if named.is_file(what):
            name, _ = named.add(what)
            what = f"{PREFIX}{name}:{name}"
        return load_host(), what
    host, name, kind = load_host(), name_of(what.__name__), kind_of(what)
    added = Added({kind: [spec_of(kind, name, what, "1")]})
    distribution = f"{PREFIX}{name}"
    host.register(name=name, distribution=distribution, version="1", load=lambda: added)
    return host, f"{distribution}:{name}"


def check_plugin(
    host: Host, name: str, only: str = "", show: Show = lambda _, __: None
) -> list[Result]:
    """The results of all checks of what a plugin registers.

    In the environment of a worker: with more threads, or where MKL chooses its kernels by where in
    memory a lane's numbers lie, a lane's bits depend on the other lanes.

    Args:
        host: with the plugin.
        name: of the plugin, its distribution, or ``DISTRIBUTION:NAME``.
        only: part of the name of a subject or check; empty for all.
        show: takes each subject with its results.

    Raises:
        UqbenchError: there is no such thing, or nothing of it could be checked.
    """
    os.environ.update(ENVIRONMENT)  # MKL reads it at its first product
    torch.set_num_threads(1)
    made = results(subjects(host, name), only, show)
    if all(result.status in ("skipped", "vacuous") for result in made):
        why = "; ".join(sorted({result.message for result in made})) or f"none is called {only!r}"
        raise UqbenchError(f"no check was made of {name!r}, which is a failure: {why}.")
    return made
