"""A suite is rows, added one by one by :class:`Adder`, and each is checked as it is added.

A suite file's own rows make the suite. ``[extend.NAME]`` tables add those of another plugin: a row
with an error is skipped with a message; the rest still load. Nothing that the suite has changes, so
that its boards stay what they were: an added task is in added budgets alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import Field

from uqbench.contract.errors import UqbenchError, did_you_mean
from uqbench.registry.plugins import Host
from uqbench.suites.checks import check_head, check_row
from uqbench.suites.claims import Reading
from uqbench.suites.metrics import Normalization, NormalizationConstants
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget, Method, Name, Table
from uqbench.suites.typed import LISTS, NAMED, typed

ORDER = ("tasks", "normalization", "metrics", "budgets", "methods", "readings", "claims")
"""A row may name what stands before it."""


class Adder:
    """Adds rows to a suite.

    Args:
        suite: so far.
        host: the plugins; None adds the rows without checking them.
        where: the rows' file or table, for messages.
        extends: whether the suite is another plugin's; if not, the rows are its own.
        bases: methods that others may have as their base, by name.
    """

    def __init__(
        self,
        suite: Suite,
        host: Host | None,
        where: str,
        *,
        extends: bool,
        bases: Mapping[str, Method],
    ) -> None:
        self.suite, self._host, self._where = suite, host, where
        self._extended = suite if extends else None
        self._bases = bases

    def add_all(self, kind: str, rows: Any) -> list[str]:
        """Add the rows of a kind, and say what is wrong with those left out."""
        if not isinstance(rows, (list | tuple) if kind in LISTS else Mapping):
            form = f"[[{kind}]] tables" if kind in LISTS else f"[{kind}.NAME] tables"
            return [f"{self._where}: {kind}: expected {form}; got {rows!r}"]
        problems = []
        for place, row in _placed(kind, rows):
            try:
                self._add(kind, place, row)
            except UqbenchError as error:
                problems.append(str(error))
            except Exception as error:  # a config's module may fail in any way
                where = f"{self._where}: {kind}.{place}"
                problems.append(f"{where}: {type(error).__name__}: {error}")
        return problems

    def _add(self, kind: str, place: str, row: Any) -> None:
        if kind == "normalization":
            row = self._normalization(place, row)
        elif not isinstance(row, Table):
            row = self._typed(kind, place, row)
        name = place if kind in NAMED else row.id if kind == "claims" else row.name
        if kind != "normalization" and name in dict(_placed(kind, getattr(self.suite, kind))):
            where = f"{self._where}: {kind}"
            raise UqbenchError(f"{where}: the name {name!r} is taken; choose another.")
        if kind == "methods":
            row = with_base(row, self._bases, self._where)
        if kind == "budgets" and self._extended and row.tasks is None:
            row = row.model_copy(update={"tasks": tuple(task.name for task in self.suite.tasks)})
        added = self.suite.with_row(kind, name, row, added=self._extended is not None)
        if self._host is not None:
            check_row(kind, name, added, self._host, self._where)
        self.suite = added

    def _typed(self, kind: str, place: str, row: Any) -> Any:
        if kind in LISTS:
            return typed(LISTS[kind], row, f"{self._where}: {kind}.{place}")
        return getattr(typed(_Named, {kind: {place: row}}, self._where), kind)[place]

    def _normalization(self, name: str, row: Any) -> Normalization:
        """A row of its own, or one of the suite's with constants of added tasks."""
        key = f"{self._where}: normalization.{name}"
        suite = self._extended
        if suite is None or name not in suite.normalization:
            made: Normalization = (
                row if isinstance(row, Normalization) else typed(Normalization, row, key)
            )
            return made
        read, before = typed(_Constants, row, key), suite.normalization[name]
        for task in suite.tasks:
            if task.name in read.constants:
                raise UqbenchError(f"{key}.constants: those of {task.name!r} are the suite's.")
        return before.model_copy(update={"constants": before.constants | read.constants})


def check_suite(suite: Suite, host: Host, where: str) -> None:
    """Check every name and config value of a suite against what the plugins define.

    Raises:
        UqbenchError: names each row that is wrong, of the first kind of rows with a wrong one.
    """
    check_head(suite, where)
    empty = suite.model_copy(update={k: () if k in LISTS else {} for k in ORDER})
    adder = Adder(empty, host, where, extends=False, bases={})
    for kind in ORDER:
        if problems := adder.add_all(kind, getattr(suite, kind)):
            raise UqbenchError("\n".join(problems))


def extended(
    suite: Suite, table: Any, host: Host | None, where: str, bases: Mapping[str, Method]
) -> tuple[Suite, list[str]]:
    """The suite with an extension's rows, and what is wrong with those left out.

    Args:
        suite: to extend.
        table: the ``[extend.NAME]`` table.
        host: the plugins; None reads the rows without checking them.
        where: the table, for messages.
        bases: methods of other extensions of the suite, which may be bases of these.
    """
    if not isinstance(table, Mapping):
        return suite, [f"{where}: expected a table; got {table!r}"]
    problems = [
        f"{where}: top level: unknown key {key!r}. {did_you_mean(str(key), ORDER)}"
        for key in table
        if key not in ORDER
    ]
    methods = _methods(table.get("methods"), where)
    known = {m.name: m for m in (*bases.values(), *suite.methods, *methods)}
    adder = Adder(suite, host, where, extends=True, bases=known)
    for kind in ORDER:
        if kind in table:
            problems += adder.add_all(kind, table[kind])
    return adder.suite, problems


def methods_of(tables: Iterable[tuple[str, Any, str]]) -> dict[str, dict[str, Method]]:
    """Methods of extensions by suite and name; other extensions may use them as bases.

    Args:
        tables: suite, ``[extend.NAME]`` table and place of each.
    """
    methods: dict[str, dict[str, Method]] = {}
    for name, table, where in tables:
        if isinstance(table, Mapping):
            for method in _methods(table.get("methods"), where):
                methods.setdefault(name, {})[method.name] = method
    return methods


def with_base(method: Method, known: Mapping[str, Method], where: str) -> Method:
    """The method with everything that it inherits from its base, and its base in turn.

    Raises:
        UqbenchError: there is no such base, or it is a variant of this method.
    """

    def resolved(method: Method, variants: tuple[str, ...]) -> Method:
        if method.base is None:
            return method
        key = f"{where}: methods.{method.name}.base"
        if method.base in variants:
            raise UqbenchError(f"{key}: {' → '.join((*variants, method.base))} is a cycle.")
        if method.base not in known:
            near = did_you_mean(method.base, known)
            raise UqbenchError(f"{key}: there is no method {method.base!r}. {near}")
        return method.on(resolved(known[method.base], (*variants, method.base)))

    return resolved(method, (method.name,))


def _methods(rows: Any, where: str) -> Iterator[Method]:
    for row in rows if isinstance(rows, list) else ():
        try:
            yield typed(Method, row, where)
        except UqbenchError:
            continue  # reported where the row itself is added


def _placed(kind: str, rows: Any) -> list[tuple[str, Any]]:
    """Each row with its name, or its number where it has none."""
    if kind in NAMED:
        return [(str(name), row) for name, row in rows.items()]
    key = "id" if kind == "claims" else "name"
    return [
        (str(row.get(key, n) if isinstance(row, Mapping) else getattr(row, key, n)), row)
        for n, row in enumerate(rows)
    ]


class _Constants(Table):
    """Constants of added tasks, for a metric that the suite normalizes already."""

    constants: dict[str, NormalizationConstants]


class _Named(Table):
    """One budget or reading, whose name is checked too."""

    budgets: dict[Name, Budget] = Field(default_factory=dict)
    readings: dict[Name, Reading] = Field(default_factory=dict)
