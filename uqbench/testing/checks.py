"""Checks of conformance as pytest's parametrized tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from uqbench.testing.conformance.check import Check, Failed, Result, Subject, checks_for


def parametrize_with_checks(subjects: Sequence[Subject]) -> Callable[[Any], Any]:
    """Let a test run once for each check of each subject, as ``test(subject, check)``.

    A check that ``expected_failures`` names is a strict ``xfail``.

    ::

        @parametrize_with_checks(subjects(Host.load(), "my-method"))
        def test_it_conforms(subject, check):
            run_check(subject, check)

    Raises:
        ValueError: there is nothing to check.
    """
    pairs = [
        pytest.param(
            subject,
            check,
            id=f"{subject.name}-{check.id}",
            marks=[
                pytest.mark.xfail(strict=True, reason=reason)
                for known, reason in subject.expected_failures.items()
                if known == check.id
            ],
        )
        for subject in subjects
        for check in checks_for(subject)
    ]
    if not pairs:
        raise ValueError("there is nothing to check: no subject has a check")
    return pytest.mark.parametrize(("subject", "check"), pairs)


def run_check(subject: Subject, check: Check) -> None:
    """Make a check: a broken rule fails the test, one that does not apply skips it."""
    error = subject.error(check)
    if isinstance(error, Failed):
        pytest.fail(str(Result(check, subject, "failed", str(error))), pytrace=False)
    if error is not None:
        pytest.skip(f"{type(error).__name__.lower()}: {error}")
