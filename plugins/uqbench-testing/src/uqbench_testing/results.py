"""Checks of subjects, made in a loop: their results.

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
from uqbench_testing.conformance.check import Check, Result, Status, Subject, all_checks
from uqbench_testing.conformance.subjects import subjects

Show = Callable[[list[Result]], None]
"""Takes the results of each subject, as soon as they are there."""


def results(
    subjects: Iterable[Subject],
    only: str = "",
    show: Show = lambda _: None,
    without: Collection[str] = (),
) -> list[Result]:
    """The results of the checks of subjects, each made after those that it builds on.

    Args:
        subjects: what is checked.
        only: part of the name of a subject or check; empty for all.
        show: takes the results of each subject.
        without: ids of checks that are left out.

    Raises:
        KeyError: a failure is expected of a check that there is not.
    """
    made: list[Result] = []
    for subject in subjects:
        checks = {one.id: one for one in all_checks() if isinstance(subject, one.of)}
        for name in subject.expected_failures.keys() - checks:
            raise unknown("check", name, checks, f"The kind {subject.kind} has")
        wanted = {i for i in checks if only in f"{subject.name}-{i}" and i not in without}
        needed, waits_for, own = set(wanted), dict[str, str](), []
        for one in reversed(checks.values()):
            needed.update(one.after if one.id in needed else ())
        for one in (one for one in checks.values() if one.id in needed):
            first = next((waits_for[name] for name in one.after if name in waits_for), None)
            result = _result(one, subject, first)
            if not result.ok:
                waits_for[one.id] = first or one.id
            own += [result] if one.id in wanted else []
        if own:
            show(own)
        made += own
    return made


def _result(one: Check, subject: Subject, waits_for: str | None) -> Result:
    """The result of a check, as it was expected or not; *blocked* where another must pass first."""
    made: tuple[Status, str] = ("blocked", waits_for) if waits_for else one.outcome(subject)
    status, message = made
    if reason := subject.expected_failures.get(one.id, "").strip():
        if status == "failed":
            status, message = "expected", reason
        elif status == "passed":
            status = "failed"
            message = f"it passes, and was expected to fail: {reason}; remove the expectation"
    return Result(one, subject.kind, subject.name, status, message)


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
