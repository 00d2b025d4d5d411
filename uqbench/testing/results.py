"""What became of checks, which pytest runs: for ``uqbench plugin check`` and ``uqbench submit``."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import torch

from uqbench.errors import UqbenchError

try:
    import pytest
except ModuleNotFoundError as error:
    raise UqbenchError("checks need pytest: python -m pip install 'uqbench[testing]'") from error

from uqbench.registry import named
from uqbench.registry.classes import Added, kind_of, name_of, spec_of
from uqbench.registry.load_host import load_host
from uqbench.registry.local import PREFIX
from uqbench.registry.plugins import Host
from uqbench.runner.executors.local import ENVIRONMENT
from uqbench.testing.checks import checks_of, run_check
from uqbench.testing.conformance.check import Blocked, Check, Result, Subject
from uqbench.testing.conformance.subjects import subjects

Show = Callable[[Subject, list[Result]], None]
"""Takes each subject with its results, as soon as they are there."""
ADDED = "PYTEST_ADDOPTS"
OPTIONS = (
    *("--disable-plugin-autoload", "--noconftest", "--import-mode=importlib", "--capture=no"),
    *(f"--config-file={os.devnull}", f"--rootdir={Path(__file__).parent}"),
    *(f"-pno:{plugin}" for plugin in ("terminal", "cacheprovider", "unraisableexception")),
)
"""Of a pytest that reads no project's settings and prints nothing itself."""


def test_conformance(subject: Subject, check: Check) -> None:
    """What pytest collects here, once for each check of the subjects of :func:`results`."""
    run_check(subject, check)


class _Session:
    """A plugin of pytest: it brings the subjects, and keeps the results."""

    def __init__(self, subjects: Sequence[Subject], show: Show) -> None:
        self.subjects, self.show = subjects, show
        self.results: list[Result] = []

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        metafunc.parametrize(("subject", "check"), checks_of(self.subjects))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Function, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "call":
            self.results.append(_result(report, *_pair(item)))
        return report

    def pytest_runtest_teardown(
        self, item: pytest.Function, nextitem: pytest.Function | None
    ) -> None:
        subject, _ = _pair(item)
        if nextitem is None or _pair(nextitem)[0] is not subject:
            self.show(subject, [result for result in self.results if result.subject is subject])
            subject.forget()


def _pair(item: pytest.Function) -> tuple[Subject, Check]:
    made: dict[str, Any] = dict(item.callspec.params)
    return made["subject"], made["check"]


def _result(report: pytest.TestReport, subject: Subject, check: Check) -> Result:
    error, reason = subject.error(check), subject.expected_failures.get(check.id, "")
    if report.skipped and hasattr(report, "wasxfail"):
        return Result(check, subject, "expected", reason)
    if report.failed and error is None:
        message = f"it passes, and was expected to fail: {reason}; remove the expectation"
        return Result(check, subject, "failed", message)
    status = "blocked" if isinstance(error, Blocked) else report.outcome
    return Result(check, subject, status, str(error or subject.reports.get(check.id, "")))


def results(
    subjects: Sequence[Subject],
    only: str = "",
    junit: Path | None = None,
    show: Show = lambda _, __: None,
) -> list[Result]:
    """Let pytest make the checks of subjects.

    Args:
        subjects: what is checked.
        only: an expression for pytest's ``-k`` about names of subjects and checks; empty for all.
        junit: pytest's JUnit report is written there.
        show: takes each subject with its results.

    Raises:
        UqbenchError: pytest cannot run, such as with an ``only`` that is no expression.
    """
    session = _Session(subjects, show)
    report = [] if junit is None else [f"--junit-xml={junit}"]
    options = os.environ.pop(ADDED, None)
    try:
        code = pytest.main([*OPTIONS, *report, "-k", only, __file__], plugins=[session])
    finally:
        os.environ |= {} if options is None else {ADDED: options}
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        raise UqbenchError(
            f"pytest cannot make the checks: {pytest.ExitCode(code).name} (-k {only!r})"
        )
    return session.results


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
    host: Host,
    name: str,
    only: str = "",
    junit: Path | None = None,
    show: Show = lambda _, __: None,
) -> list[Result]:
    """The results of all checks of what a plugin registers.

    In the environment of a worker: with more threads, or where MKL chooses its kernels by where in
    memory a lane's numbers lie, a lane's bits depend on the other lanes.

    Args:
        host: with the plugin.
        name: of the plugin, its distribution, or ``DISTRIBUTION:NAME``.
        only: an expression for pytest's ``-k`` about names of subjects and checks; empty for all.
        junit: pytest's JUnit report is written there.
        show: takes each subject with its results.
    """
    os.environ.update(ENVIRONMENT)  # MKL reads it at its first product
    torch.set_num_threads(1)
    return results(subjects(host, name), only, junit, show)
