"""The checks of subjects are made here, in a loop, and give results.

For ``uqbench plugin check``, ``uqbench submit`` and :func:`uqbench.testing.check`.
"""

import os
from collections.abc import Callable, Collection, Iterable
from typing import Any

import torch

from uqbench.contract.errors import UqbenchError, unknown
from uqbench.registry import named
from uqbench.registry.classes import Added, kind_of, name_of, spec_of
from uqbench.registry.load_host import load_host
from uqbench.registry.local import PREFIX
from uqbench.registry.plugins import Host
from uqbench.runner.executors.local import ENVIRONMENT
from uqbench.testing.conformance.check import Check, Result, Status, Subject, checks_for
from uqbench.testing.conformance.subjects import subjects

Show = Callable[[list[Result]], None]
"""Takes the results of each subject, as soon as they are there."""


def results(
    subjects: Iterable[Subject], only: str = "", show: Show = lambda _: None
) -> list[Result]:
    """The results of all checks of subjects.

    Args:
        subjects: what is checked.
        only: part of the name of a subject or check; empty for all.
        show: takes the results of each subject.
    """
    made: list[Result] = []
    for subject in subjects:
        wanted = [c for c in checks_for(subject) if only in f"{subject.name}-{c.id}"]
        own = results_of(subject, wanted)
        if own:
            show(own)
        made += own
    return made


def results_of(subject: Subject, wanted: Collection[Check]) -> list[Result]:
    """The results of some checks of a subject, each made after those that it builds on.

    Raises:
        KeyError: a failure is expected of a check that there is not.
    """
    checks, needed = checks_for(subject), {check.id for check in wanted}
    for name in subject.expected_failures:
        if name not in (known := [check.id for check in checks]):
            raise unknown(f"check of an {subject.kind}", name, known)
    for check in reversed(checks):
        needed.update(check.after if check.id in needed else ())
    made, waits_for = [], dict[str, str]()
    for check in (check for check in checks if check.id in needed):
        first = next((waits_for[name] for name in check.after if name in waits_for), None)
        became: tuple[Status, str] = ("blocked", first) if first else check.of(subject)
        status, message = became
        reason = subject.expected_failures.get(check.id, "").strip()
        if status == "failed" and reason:
            status, message = "expected", reason
        elif status in ("failed", "blocked"):
            waits_for[check.id] = first or check.id
        elif status == "passed" and reason:
            status = "failed"
            message = f"it passes, and was expected to fail: {reason}; remove the expectation"
        made.append(Result(check, subject.name, status, message))
    subject.memory.clear()  # it may be large
    return [result for result in made if result.check in wanted]


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
    host: Host, name: str, only: str = "", show: Show = lambda _: None
) -> list[Result]:
    """The results of all checks of what a plugin registers.

    In the environment of a worker: with more threads, or where MKL chooses its kernels by where in
    memory a lane's numbers lie, a lane's bits depend on the other lanes.

    Args:
        host: with the plugin.
        name: of the plugin, its distribution, or ``DISTRIBUTION:NAME``.
        only: part of the name of a subject or check; empty for all.
        show: takes the results of each subject.

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
