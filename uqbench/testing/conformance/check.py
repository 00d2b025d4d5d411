"""A check, its subject and its result."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, cast, get_args

from uqbench.contract.errors import MissingDataError, UqbenchError, unknown
from uqbench.registry.side_effects import watched

T = TypeVar("T")
Level = Literal["required", "checkpointable", "compiled", "calibrated"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""*required* for a row on a board; the others say what else a subject can do."""
Status = Literal["passed", "failed", "skipped", "vacuous", "blocked", "expected"]


class Failed(Exception):  # noqa: N818
    """A rule is broken; the message says how."""


class Skipped(Exception):  # noqa: N818
    """A rule does not apply to the subject; the message says why."""


class Vacuous(Skipped):
    """A rule applies, but nothing that was tried could have broken it; the message says why."""


class Blocked(Skipped):
    """A check that comes first has failed; the message is the id of the first."""


@contextmanager
def unchanged(what: str) -> Iterator[None]:
    """Fail where global random states, threads or defaults change inside, and restore them."""
    changed: list[str] = []
    with watched(changed):
        yield
    if changed:
        raise Failed(f"{what} changed {', '.join(changed)}")


@dataclass(kw_only=True)
class Subject:
    """What is checked, and everything needed to try it.

    Attributes:
        name: as the plugin registers it.
        expected_failures: reasons by the ids of checks that are known to fail. Strict: a check
            that passes in spite of it is a failure, and so is a reason that is empty.
        reports: what checks that passed measured, by their ids.
        memory: what several checks need and one has computed.
    """

    kind: ClassVar[str]
    name: str
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    reports: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        known = [check.id for check in checks_for(self)]
        for name, reason in self.expected_failures.items():
            if name not in known:
                raise unknown(f"check of an {self.kind}", name, known)
            if not reason.strip():
                raise ValueError(f"the expected failure {name!r} of {self.name!r} needs a reason")

    def error(self, check: Check) -> Failed | Skipped | None:
        """Why a check does not pass; made once, after the checks that it builds on.

        What one check computes others read, so the order is that of ``after``, whatever the order
        in which pytest asks, and also where it asks for some of them alone.
        """
        return self.once(f"error of {check.id}", lambda: self._error(check))

    def result(self, check: Check) -> Result:
        """What becomes of a check, with what is expected of it."""
        error, reason = self.error(check), self.expected_failures.get(check.id)
        if reason and isinstance(error, Failed):
            return Result(check, self, "expected", reason)
        if reason and error is None:
            message = f"it passes, and was expected to fail: {reason}; remove the expectation"
            return Result(check, self, "failed", message)
        if error is None:
            return Result(check, self, "passed", self.reports[check.id])
        return Result(check, self, cast(Status, type(error).__name__.lower()), str(error))

    def _error(self, check: Check) -> Failed | Skipped | None:
        for other in checks_for(self):
            if other.id in check.after:
                error = self.error(other)
                known = isinstance(error, Failed) and other.id in self.expected_failures
                if isinstance(error, Failed | Blocked) and not known:
                    return Blocked(str(error) if isinstance(error, Blocked) else other.id)
        try:
            self.reports[check.id] = check.function(self) or ""
        except (Failed, Skipped) as error:
            return error
        except MissingDataError as error:
            return Skipped(f"its data is not on this machine: {error}")
        except UqbenchError as error:
            return Failed(str(error))
        except Exception as error:  # a plugin may raise anything
            return Failed(f"it raised {type(error).__name__}: {located(error)}")
        return None

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What several checks need, computed by the first of them."""
        if name not in self.memory:
            self.memory[name] = compute()
        value: T = self.memory[name]
        return value

    def forget(self) -> None:
        """Drop what checks computed, which may be large, and how they ended."""
        self.memory.clear()


S = TypeVar("S", bound=Subject)


@dataclass(frozen=True)
class Check:
    """A rule and how to try it.

    Attributes:
        id: ``kind-rule``.
        kind: of the subjects that it applies to.
        rule: in one line.
        tried: how.
        fix: what an author does about a failure.
        function: raises :class:`Failed`, or :class:`Skipped`; returns what it measured, if that is
            worth a line.
        after: ids of the checks that must pass first, and with them those that they are after;
            otherwise it is blocked.
    """

    id: str
    kind: str
    level: Level
    rule: str
    tried: str
    fix: str
    function: Callable[[Any], str | None]
    after: tuple[str, ...] = ()


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
        what = f"{self.subject.kind} {self.subject.name}: {self.check.id}: {self.status}"
        if self.status != "failed":
            return f"{what}: {self.message}" if self.message else what
        return f"{what}: {self.message}\n  rule: {self.check.rule}\n  fix: {self.check.fix}"

    def as_json(self) -> dict[str, str]:
        """As ``--json`` prints it."""
        return {
            "subject": self.subject.name,
            "kind": self.subject.kind,
            "check": self.check.id,
            "level": self.check.level,
            "status": self.status,
            "message": self.message,
            "rule": self.check.rule,
            "fix": self.check.fix,
            "tried": self.check.tried,
        }


_CHECKS: dict[str, Check] = {}


def check(
    kind: type[S], id: str, level: Level = "required", after: tuple[str, ...] = ()
) -> Callable[[Callable[[S], str | None]], Callable[[S], str | None]]:
    """Register a function as a check of one kind of subject.

    The first paragraph of its docstring is the rule, the section ``Fix:`` what an author does about
    a failure.
    """

    def register(function: Callable[[S], str | None]) -> Callable[[S], str | None]:
        if id in _CHECKS:
            raise ValueError(f"there are two checks {id!r}")
        text, _, fix = (inspect.getdoc(function) or "").partition("\n\nFix:\n")
        rule, _, tried = text.partition("\n\n")
        rule, tried, fix = (" ".join(part.split()) for part in (rule, tried, fix))
        _CHECKS[id] = Check(id, kind.kind, level, rule, tried, fix, function, after)
        return function

    return register


def all_checks() -> list[Check]:
    """Every check, each after those that it builds on; otherwise by name."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)], f"{__package__}."):
        importlib.import_module(module.name)
    depths: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in depths:
            depths[name] = 1 + max(map(depth, _CHECKS[name].after), default=0)
        return depths[name]

    return sorted(_CHECKS.values(), key=lambda one: (one.kind, depth(one.id), one.id))


def located(error: Exception) -> str:
    """The message, and the last line of the plugin that led there."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not any(p in f.filename for p in ("/torch/", "/conformance/"))]
    where = f" (line {own[-1].lineno} of {own[-1].name}: {own[-1].line})" if own else ""
    return f"{str(error).splitlines()[0] if str(error) else type(error).__name__}{where}"


def checks_for(subject: Subject) -> list[Check]:
    """The checks that apply to a subject."""
    return [check for check in all_checks() if check.kind == subject.kind]
