"""A rule of conformance, a subject on which it is tried, and the result."""

import functools
import importlib
import inspect
import pkgutil
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Concatenate, Literal, ParamSpec, TypeVar, get_args

from uqbench.contract.errors import MissingDataError, UqbenchError
from uqbench.registry.side_effects import watched

P = ParamSpec("P")
T = TypeVar("T")
Level = Literal["required", "checkpointable", "compiled", "calibrated"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""*required* for a row on a board; the others say what else a subject can do."""
Status = Literal["passed", "failed", "skipped", "vacuous", "blocked", "expected"]


class Failed(Exception):  # noqa: N818
    """A rule is broken; the message says how."""

    status: Status = "failed"


class Skipped(Failed):
    """A rule does not apply to the subject; the message says why."""

    status: Status = "skipped"


class Vacuous(Skipped):
    """A rule applies, but nothing that was tried could have broken it; the message says why."""

    status = "vacuous"


def expect(holds: T | None, why: str, otherwise: type[Failed] = Failed) -> T:
    """Return what holds; raise :class:`Failed`, or another, where it is none, or false."""
    if not holds:
        raise otherwise(why)
    return holds


def applies(has: T | None, why_not: str) -> T:
    """Return what a rule is about; raise :class:`Skipped` where there is none, or it is false."""
    return expect(has, why_not, Skipped)


def is_a(made: object, kind: type, name: str) -> None:
    """Fail where a factory made something of another kind."""
    expect(isinstance(made, kind), f"the factory made a {type(made).__name__}, not a {name}")


@contextmanager
def unchanged(what: str) -> Iterator[None]:
    """Fail where global random states or defaults change inside; arithmetic is put back."""
    changed: list[str] = []
    with watched(changed):
        yield
    expect(not changed, f"{what} changed {', '.join(changed)}")


@dataclass(kw_only=True)
class Subject:
    """Something that is checked, with everything needed to try it.

    Attributes:
        name: as the plugin registers it.
        expected_failures: reasons by the ids of checks that are known to fail. Strict: a check
            that passes in spite of it is a failure, and so is a reason that is empty.
    """

    kind: ClassVar[str]
    name: str
    expected_failures: Mapping[str, str] = field(default_factory=dict)

    def __init_subclass__(cls, kind: str) -> None:
        cls.kind = kind


S = TypeVar("S", bound=Subject)


def once(function: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Compute a function of a subject for the first check that needs it; others get that value."""

    @functools.wraps(function)
    def remembered(subject: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        memory: dict[Any, T] = vars(subject).setdefault("memory", {})
        if (key := (function, args)) not in memory:
            memory[key] = function(subject, *args, **kwargs)
        return memory[key]

    return remembered


@dataclass(frozen=True)
class Check:
    """A rule, and a function that tries it on a subject.

    Attributes:
        id: ``kind-rule``.
        of: the class of the subjects that it applies to.
        rule: in one line.
        tried: on what, and how.
        fix: what an author does about a failure.
        function: raises :class:`Failed`, or :class:`Skipped`; returns what it measured, if that is
            worth a line.
        after: ids of the checks that must pass first, and with them those that they are after;
            otherwise it is blocked.
    """

    id: str
    of: type[Subject]
    level: Level
    rule: str
    tried: str
    fix: str
    function: Callable[[Any], str | None]
    after: tuple[str, ...] = ()

    def outcome(self, subject: Any) -> tuple[Status, str]:
        """Its status by itself, and the reason, or what it measured."""
        try:
            return "passed", self.function(subject) or ""
        except Failed as outcome:
            return outcome.status, str(outcome)
        except MissingDataError as error:
            return "skipped", f"its data is not on this machine: {error}"
        except UqbenchError as error:
            return "failed", str(error)
        except Exception as error:  # a plugin may raise anything
            return "failed", f"it raised {type(error).__name__}: {located(error)}"


@dataclass(frozen=True)
class Result:
    """The status of a check of a subject, and its reason or measurement."""

    check: Check
    kind: str
    name: str
    status: Status
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is to be done about it."""
        return self.status not in ("failed", "blocked")

    def __str__(self) -> str:
        what = f"{self.kind} {self.name}: {self.check.id}: {self.status}"
        if self.status != "failed":
            return f"{what}: {self.message}" if self.message else what
        return f"{what}: {self.message}\n  rule: {self.check.rule}\n  fix: {self.check.fix}"

    def as_json(self) -> dict[str, str]:
        """As ``--json`` prints it."""
        own = {"subject": self.name, "kind": self.kind, "check": self.check.id}
        own |= {"level": self.check.level, "status": self.status, "message": self.message}
        return own | {name: getattr(self.check, name) for name in ("rule", "fix", "tried")}


_CHECKS: dict[str, Check] = {}


def check(
    of: type[S], id: str, level: Level = "required", after: tuple[str, ...] = ()
) -> Callable[[Callable[[S], str | None]], Callable[[S], str | None]]:
    """Register a function as a check of one kind of subject.

    The first paragraph of its docstring is the rule, the section ``Fix:`` what an author does about
    a failure.
    """

    def register(function: Callable[[S], str | None]) -> Callable[[S], str | None]:
        text, _, fix = (inspect.getdoc(function) or "").partition("\n\nFix:\n")
        rule, _, tried = text.partition("\n\n")
        rule, tried, fix = (" ".join(part.split()) for part in (rule, tried, fix))
        _CHECKS[id] = Check(id, of, level, rule, tried, fix, function, after)
        return function

    return register


@functools.cache
def all_checks() -> tuple[Check, ...]:
    """Every check, each after those that it builds on; otherwise by name."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)], f"{__package__}."):
        importlib.import_module(module.name)

    def place(one: Check) -> tuple[int, str]:
        return 1 + max((place(_CHECKS[first])[0] for first in one.after), default=0), one.id

    return tuple(sorted(_CHECKS.values(), key=place))


def located(error: Exception) -> str:
    """The message, and the last line of the plugin that led there."""
    frames = traceback.extract_tb(error.__traceback__)
    passed = "/torch/", str(Path(__file__).parent)
    own = [f for f in frames if not any(part in f.filename for part in passed)]
    where = f" (line {own[-1].lineno} of {own[-1].name}: {own[-1].line})" if own else ""
    return f"{str(error).splitlines()[0] if str(error) else type(error).__name__}{where}"
