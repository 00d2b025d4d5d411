"""``[extend.NAME]``: what a plugin adds to another one's suite, row by row.

A row that is wrong is left out, and said; the others stand. Nothing that the suite has changes, so
that its boards stay what they were: an added task is in added budgets alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from uqbench.errors import UqbenchError, did_you_mean
from uqbench.registry.plugins import Host
from uqbench.suites.checks import (
    check_budget,
    check_budget_configs,
    check_claim,
    check_method,
    check_metric,
    check_normalization,
    check_task,
    check_unique,
)
from uqbench.suites.claims import Claim, Reading
from uqbench.suites.metrics import Metric, Normalization, NormalizationConstants
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget, Method, Name, Table, Task
from uqbench.suites.typed import typed

ROWS = ("tasks", "metrics", "methods", "claims")
"""Lists of tables."""
NAMED = ("normalization", "budgets", "readings")
"""Tables by name."""
ORDER = ("tasks", "metrics", "normalization", "budgets", "methods", "readings", "claims")
"""A row may name what stands before it."""


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
    problems = []
    if not isinstance(table, Mapping):
        return suite, [f"{where}: expected a table; got {table!r}"]
    for key in table:
        if key not in ORDER:
            near = did_you_mean(str(key), ORDER)
            problems.append(f"{where}: top level: unknown key {key!r}. {near}")
    methods = _methods(table.get("methods"), where)
    known = {m.name: m for m in (*bases.values(), *suite.methods, *methods)}
    adding = _Adding(suite, known, host, where)
    for kind in ORDER:
        rows = table.get(kind, ())
        form_of: Any = (list, tuple) if kind in ROWS else Mapping
        if not isinstance(rows, form_of):
            form = f"[[{kind}]] tables" if kind in ROWS else f"[{kind}.NAME] tables"
            if kind in table:
                problems.append(f"{where}: {kind}: expected {form}; got {rows!r}")
            continue
        for place, row in _placed(kind, rows):
            try:
                adding.suite = adding.by_kind[kind](place, row)
            except Exception as error:  # a config's module may fail in any way
                said = str(error) if isinstance(error, UqbenchError) else None
                problems.append(said or f"{where}: {kind}.{place}: {type(error).__name__}: {error}")
    return adding.suite, problems


def methods_of(tables: Iterable[tuple[str, Any, str]]) -> dict[str, dict[str, Method]]:
    """Methods of extensions by suite and name; other extensions may use them as bases.

    Args:
        tables: suite, ``[extend.NAME]`` table and place of each.
    """
    found: dict[str, dict[str, Method]] = {}
    for name, table, where in tables:
        if isinstance(table, Mapping):
            for method in _methods(table.get("methods"), where):
                found.setdefault(name, {})[method.name] = method
    return found


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
    return [
        (str(row.get("name", row.get("id", n)) if isinstance(row, Mapping) else n), row)
        for n, row in enumerate(rows)
    ]


class _Constants(Table):
    """Constants of added tasks, for a metric that the suite normalizes already."""

    constants: dict[str, NormalizationConstants]


class _Budgets(Table):
    budgets: dict[Name, Budget]


class _Readings(Table):
    readings: dict[Name, Reading]


class _Adding:
    """The suite so far; each function returns the suite with one row more, or raises."""

    def __init__(
        self, suite: Suite, known: Mapping[str, Method], host: Host | None, where: str
    ) -> None:
        self.own = self.suite = suite
        self.known, self.host, self.where = known, host, where
        self.by_kind = {
            "tasks": self.task,
            "metrics": self.metric,
            "normalization": self.normalization,
            "budgets": self.budget,
            "methods": self.method,
            "readings": self.reading,
            "claims": self.claim,
        }

    def task(self, place: str, row: Any) -> Suite:
        """In no budget but added ones; every method must have a config for it."""
        suite, where = self.suite, self.where
        task = typed(Task, row, f"{where}: tasks.{place}")
        check_unique([*(t.name for t in suite.tasks), task.name], f"{where}.tasks")
        if self.host is not None:
            check_task(task, self.host, f"{where}: tasks.{task.name}")
        added = suite.with_task(task)
        if self.host is not None:
            for metric in suite.metrics:  # such as events that its environment does not count
                check_metric(metric, added, self.host, f"{where}: metrics.{metric.name}")
        self._check_methods(added)
        return added

    def metric(self, place: str, row: Any) -> Suite:
        """It leaves the identity of runs alone."""
        metric = typed(Metric, row, f"{self.where}: metrics.{place}")
        names = [*(m.name for m in self.suite.metrics), metric.name]
        check_unique(names, f"{self.where}.metrics")
        added = self.suite.with_metric(metric)
        if self.host is not None:
            check_metric(metric, added, self.host, f"{self.where}: metrics.{metric.name}")
        return added

    def normalization(self, place: str, row: Any) -> Suite:
        """Of an added metric, or constants of added tasks for one of the suite's."""
        key = f"{self.where}: normalization.{place}"
        if place in self.own.normalization:
            read = typed(_Constants, row, key)
            for task in self.own.tasks:
                if task.name in read.constants:
                    raise UqbenchError(f"{key}.constants: those of {task.name!r} are the suite's.")
            before = self.own.normalization[place]
            constants = before.constants | read.constants
            made = before.model_copy(update={"constants": constants})
        else:
            made = typed(Normalization, row, key)
        normalization = {**self.suite.normalization, place: made}
        added = self.suite.model_copy(update={"normalization": normalization})
        for metric in added.metrics:
            if place == (metric.normalized_as or metric.name):
                check_normalization(metric, added, self.where)
        return added

    def budget(self, place: str, row: Any) -> Suite:
        """Of all tasks, unless it names some; all methods that name no budgets are in it."""
        check_unique([*self.suite.budgets, place], f"{self.where}.budgets")
        budgets = typed(_Budgets, {"budgets": {place: row}}, self.where).budgets
        if budgets[place].tasks is None:
            names = tuple(task.name for task in self.suite.tasks)
            budgets[place] = budgets[place].model_copy(update={"tasks": names})
        added = self.suite.model_copy(update={"budgets": {**self.suite.budgets, **budgets}})
        check_budget(added, budgets[place], f"{self.where}: budgets.{place}")
        if self.host is not None:
            check_budget_configs(added, self.host, self.where)
        self._check_methods(added)
        return added

    def method(self, place: str, row: Any) -> Suite:
        """With what it inherits from its base."""
        read = typed(Method, row, f"{self.where}: methods.{place}")
        method = with_base(read, self.known, self.where)
        names = [*(m.name for m in self.suite.methods), method.name]
        check_unique(names, f"{self.where}.methods")
        added = self.suite.model_copy(update={"methods": (*self.suite.methods, method)})
        if self.host is not None:
            check_method(method, added, self.host, self.where)
        return added

    def reading(self, place: str, row: Any) -> Suite:
        """A reading of the paper that the added claims rest on."""
        check_unique([*self.suite.readings, place], f"{self.where}.readings")
        readings = typed(_Readings, {"readings": {place: row}}, self.where).readings
        return self.suite.model_copy(update={"readings": self.suite.readings | readings})

    def claim(self, place: str, row: Any) -> Suite:
        """Of any of the suite's methods, and of those of plugins that are not installed."""
        claim = typed(Claim, row, f"{self.where}: claims.{place}")
        check_unique([*(c.id for c in self.suite.claims), claim.id], f"{self.where}.claims")
        added = self.suite.model_copy(update={"claims": (*self.suite.claims, claim)})
        if self.host is not None:
            check_claim(claim, added, self.host, self.where)
        return added

    def _check_methods(self, suite: Suite) -> None:
        if self.host is not None:
            for method in suite.methods:
                check_method(method, suite, self.host, self.where)
