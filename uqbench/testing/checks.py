"""Checks of conformance under pytest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from uqbench.testing.conformance import Check, Subject, checks_for


def parametrize_with_checks(subjects: Sequence[Subject]) -> Callable[[Any], Any]:
    """Let a test run once for each check of each subject, as ``test(subject, check)``.

    ::

        @parametrize_with_checks(subjects(Host.load(), "my-method"))
        def test_it_conforms(subject, check):
            run_check(subject, check)

    Raises:
        ValueError: there is nothing to check.
    """
    pairs = [(subject, check) for subject in subjects for check in checks_for(subject)]
    if not pairs:
        raise ValueError("there is nothing to check: no subject has a check")
    names = [f"{subject.name}-{check.id}" for subject, check in pairs]
    return pytest.mark.parametrize(("subject", "check"), pairs, ids=names)


def run_check(subject: Subject, check: Check) -> None:
    """Make a check: a failure fails the test, what does not apply skips it."""
    result = subject.result(check)
    if result.status == "failed":
        pytest.fail(str(result), pytrace=False)
    if result.status == "expected":
        pytest.xfail(result.message)
    if result.status != "passed":
        pytest.skip(f"{result.status}: {result.message}")


def conform(subject: Subject, *, but: Sequence[str] = ()) -> None:
    """Make all checks of a subject, except for those named, and fail with what is broken."""
    results = [subject.result(check) for check in checks_for(subject) if check.id not in but]
    if not results:
        pytest.fail(f"no check applies to the {subject.kind} {subject.name}")
    broken = [str(result) for result in results if result.status == "failed"]
    if broken:
        pytest.fail("\n\n".join(broken), pytrace=False)
