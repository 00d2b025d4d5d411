"""A check, its subject and its result."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar, get_args

from uqbench.errors import MissingDataError, unknown

Level = Literal["required", "checkpointable", "compiled", "calibrated"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""*required* for a row on a board; the others say what else a subject can do."""
Status = Literal["passed", "failed", "skipped", "blocked", "expected"]

PAGE = "docs/conformance.md"
MODULES = (
    "agents",
    "repeatability",
    "actors",
    "processes",
    "endings",
    "devices",
    "uncertainty",
    "calibration",
    "loop_agents",
    "environments",
    "episodes",
    "truths",
    "risks",
    "estimators",
    "claims",
    "packages",
    "components",
)
"""The modules that hold checks, in the order of the page."""


class Failed(Exception):  # noqa: N818
    """A rule is broken; the message says what was found."""


class Skipped(Exception):  # noqa: N818
    """A rule does not apply to the subject; the message says why."""


@dataclass(kw_only=True)
class Subject:
    """What is checked, and everything needed to try it.

    Attributes:
        name: as the plugin registers it.
        expected_failures: reasons by the ids of checks that are known to fail. Strict: a check
            that passes in spite of it is a failure, and so is a reason that is empty.
        memory: what several checks need and one has computed.
    """

    kind: ClassVar[str]
    name: str
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    _results: dict[str, Result] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        known = [check.id for check in checks_for(self)]
        for name, reason in self.expected_failures.items():
            if name not in known:
                raise unknown(f"check of an {self.kind}", name, known)
            if not reason.strip():
                raise ValueError(f"the expected failure {name!r} of {self.name!r} needs a reason")

    def result(self, check: Check) -> Result:
        """The result of a check; made once, after the checks that it builds on."""
        if check.id not in self._results:
            self._results[check.id] = self._made(check)
        return self._results[check.id]

    def results(self, level: Level | None = None) -> list[Result]:
        """The results of all checks for this kind of subject, or of those of one level."""
        return [self.result(c) for c in checks_for(self) if level in (None, c.level)]

    def _made(self, check: Check) -> Result:
        for other in checks_for(self):
            if other.id in check.after and self.result(other).status not in (
                "passed",
                "skipped",
                "expected",
            ):
                return Result(check, self, "blocked", f"{other.id} comes first")
        reason = self.expected_failures.get(check.id)
        try:
            check.function(self)
        except Skipped as error:
            return Result(check, self, "skipped", str(error))
        except MissingDataError as error:
            return Result(check, self, "skipped", f"its data is not on this machine: {error}")
        except Failed as error:
            return Result(check, self, "expected" if reason else "failed", reason or str(error))
        except Exception as error:  # a plugin may raise anything
            where = f"it raised {type(error).__name__}: {error}"
            return Result(check, self, "expected" if reason else "failed", reason or where)
        if reason:
            message = f"it passes, and was expected to fail: {reason}; remove the expectation"
            return Result(check, self, "failed", message)
        return Result(check, self, "passed")


S = TypeVar("S", bound=Subject)


@dataclass(frozen=True)
class Check:
    """A rule and how to try it.

    Attributes:
        id: ``kind-rule``, also the anchor in ``docs/conformance.md``.
        kind: of the subjects that it applies to.
        rule: in one line.
        fix: what an author does about a failure.
        function: raises :class:`Failed`, or :class:`Skipped`.
        after: ids of the checks that must pass first; otherwise it is blocked.
    """

    id: str
    kind: str
    level: Level
    rule: str
    fix: str
    function: Callable[[Any], None]
    after: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Where the docs explain it."""
        return f"{PAGE}#{self.id}"


@dataclass(frozen=True)
class Result:
    """What became of a check."""

    check: Check
    subject: Subject
    status: Status
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is to be done about it."""
        return self.status not in ("failed", "blocked")

    def __str__(self) -> str:
        said = f"{self.subject.kind} {self.subject.name}: {self.check.id}: {self.status}"
        if self.status != "failed":
            return f"{said}: {self.message}" if self.message else said
        return (
            f"{said}: {self.message}\n"
            f"  rule: {self.check.rule}\n"
            f"  fix: {self.check.fix} ({self.check.anchor})"
        )


_CHECKS: dict[str, Check] = {}


def check(
    kind: type[S],
    id: str,
    *,
    rule: str,
    fix: str,
    level: Level = "required",
    after: tuple[str, ...] = (),
) -> Callable[[Callable[[S], None]], Callable[[S], None]]:
    """Register a function as a check of one kind of subject."""

    def register(function: Callable[[S], None]) -> Callable[[S], None]:
        if id in _CHECKS:
            raise ValueError(f"there are two checks {id!r}")
        _CHECKS[id] = Check(id, kind.kind, level, rule, fix, function, after)
        return function

    return register


def all_checks() -> list[Check]:
    """Every check."""
    for name in MODULES:
        importlib.import_module(f"uqbench.testing.conformance.{name}")
    order = {f"uqbench.testing.conformance.{name}": place for place, name in enumerate(MODULES)}
    # a module that was imported before the others registered its checks first
    return sorted(_CHECKS.values(), key=lambda check: order[check.function.__module__])


def checks_for(subject: Subject) -> list[Check]:
    """The checks that apply to a subject."""
    return [check for check in all_checks() if check.kind == subject.kind]
