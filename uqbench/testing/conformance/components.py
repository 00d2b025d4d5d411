"""What is registered and cannot be tried: because of an error, or since nothing uses it here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from uqbench.errors import MissingDataError
from uqbench.testing.conformance.check import Failed, Skipped, Subject, check


@dataclass(kw_only=True)
class ComponentSubject(Subject):
    """Something registered that no other subject could be made of.

    Attributes:
        problem: what making it raised, or why it was not made.
    """

    kind: ClassVar[str] = "component"
    problem: Exception | str


@check(ComponentSubject, "component-made")
def made(subject: ComponentSubject) -> None:
    """What is registered can be made with the config of a suite that uses it.

    Missing data and missing suites are no failures, and are said.

    Fix:
        Follow the message; raise uqbench.errors.MissingDataError where files are missing that a
        user has to put there.
    """
    if isinstance(subject.problem, str):
        raise Skipped(subject.problem)
    if isinstance(subject.problem, MissingDataError):
        raise Skipped(f"its data is not on this machine: {subject.problem}")
    raise Failed(f"making it raised {type(subject.problem).__name__}: {subject.problem}")
